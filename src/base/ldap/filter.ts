/*
 * Search filters of LDAP (RFC 4515), as the operator writes them, with placeholders for values that come later. A value takes
 * its place when the text has been read: whatever it contains, it stays a value.
 */

/** A filter as an object. Values are texts, or bytes where no text can say them. */
export type Filter =
  | { kind: 'and' | 'or'; filters: readonly Filter[] }
  | { kind: 'not'; filter: Filter }
  | { kind: 'present'; attribute: string }
  | { kind: 'equal'; attribute: string; value: string | Buffer }
  | { kind: 'approximate' | 'at-least' | 'at-most'; attribute: string; value: string }
  | { kind: 'substrings'; attribute: string; initial: string; any: readonly string[]; final: string }
  | { kind: 'rule'; attribute: string; rule: string; dnAttributes: boolean; value: string }

/** Stands for a placeholder whose attribute only has to be there. */
export const ANY = Symbol('any value')

/** What stands for each placeholder, such as `{username}`. */
export type Filling = Readonly<Record<string, string | typeof ANY>>

/** Deeper ones are mistakes. */
const MAX_DEPTH = 32
const ATTRIBUTE = /^(?:[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)(?:;[A-Za-z0-9-]+)*$/
const COMPARED = { '~': 'approximate', '>': 'at-least', '<': 'at-most' } as const

/** Reads a filter, and fills its placeholders. Throws an `Error` that says what is wrong with the text. */
export function readFilter(text: string, filling: Filling = {}): Filter {
  const reader = new FilterReader(text, filling)
  const filter = reader.filter(0)
  reader.end()
  return filter
}

class FilterReader {
  readonly #text: string
  readonly #filling: Filling
  #at = 0

  constructor(text: string, filling: Filling) {
    this.#text = text
    this.#filling = filling
  }

  filter(depth: number): Filter {
    if (depth > MAX_DEPTH) throw new Error(`nests deeper than ${MAX_DEPTH} levels`)
    this.#expect('(')
    const sign = this.#text[this.#at] ?? ''
    const filter = '&|!'.includes(sign) && sign !== '' ? this.#composed(sign, depth) : this.#item()
    this.#expect(')')
    return filter
  }

  end(): void {
    this.#skipBlanks()
    if (this.#at < this.#text.length) throw new Error(`does not end where its first ( is closed, at ${this.#at + 1}`)
  }

  #composed(sign: string, depth: number): Filter {
    this.#at++
    if (sign === '!') return { kind: 'not', filter: this.filter(depth + 1) }
    const filters: Filter[] = []
    do {
      filters.push(this.filter(depth + 1))
      this.#skipBlanks()
    } while (this.#text[this.#at] === '(')
    return { kind: sign === '&' ? 'and' : 'or', filters }
  }

  #item(): Filter {
    const item = /[^()]*/y
    item.lastIndex = this.#at
    const [written = ''] = item.exec(this.#text) ?? []
    this.#at += written.length
    const [, left = '', sign = '', raw = ''] = /^([^=<>~]*)([<>~]?)=(.*)$/s.exec(written) ?? []
    if (left === '') throw new Error(`has no comparison such as (uid=value) at ${this.#at - written.length + 1}`)
    if (left.endsWith(':') && sign === '') return this.#byRule(left.trim(), raw)
    const attribute = attributeOf(left)
    if (sign !== '') return { kind: COMPARED[sign as keyof typeof COMPARED], attribute, value: this.#value(raw) }
    if (raw === '*' || this.#isAny(raw)) return { kind: 'present', attribute }
    if (!raw.includes('*')) return { kind: 'equal', attribute, value: this.#value(raw) }
    const [initial, ...others] = raw.split('*').map(part => this.#value(part))
    return { kind: 'substrings', attribute, initial: initial!, any: others.slice(0, -1), final: others.at(-1)! }
  }

  /** `memberOf:1.2.840.113556.1.4.1941:=value`, `cn:dn:=value` */
  #byRule(left: string, raw: string): Filter {
    const [name = '', ...parts] = left.slice(0, -1).split(':')
    const dnAttributes = parts[0]?.toLowerCase() === 'dn'
    const [rule = '', ...more] = dnAttributes ? parts.slice(1) : parts
    if (more.length > 0 || (name === '' && rule === '')) throw new Error(`compares by an invalid rule: ${left}`)
    if (name !== '' && this.#isAny(raw)) return { kind: 'present', attribute: attributeOf(name) }
    const attribute = name === '' ? '' : attributeOf(name)
    return { kind: 'rule', attribute, rule, dnAttributes, value: this.#value(raw) }
  }

  #isAny(raw: string): boolean {
    return Object.entries(this.#filling).some(([placeholder, value]) => value === ANY && raw.includes(placeholder))
  }

  /** The value that is written here. What fills a placeholder is not read. */
  #value(raw: string): string {
    const [[placeholder, value] = [], ...others] = Object.entries(this.#filling)
    if (others.length > 0) throw new Error('a filter has one placeholder')
    if (placeholder === undefined || typeof value !== 'string') return unescaped(raw)
    return raw.split(placeholder).map(unescaped).join(value)
  }

  #expect(sign: string): void {
    this.#skipBlanks()
    if (this.#text[this.#at] !== sign) throw new Error(`needs ${sign} at ${this.#at + 1}`)
    this.#at++
  }

  #skipBlanks(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++
  }
}

function attributeOf(written: string): string {
  const attribute = written.trim()
  if (!ATTRIBUTE.test(attribute)) throw new Error(`names no attribute: ${attribute}`)
  return attribute
}

/** `\2a` is a byte; the bytes are UTF-8. */
function unescaped(raw: string): string {
  if (/\\(?![0-9A-Fa-f]{2})/.test(raw)) throw new Error('has a \\ that is not followed by two hex digits')
  const bytes = Buffer.from(raw).toString('latin1')
  const written = bytes.replace(/\\([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(written, 'latin1'))
  } catch {
    throw new Error('has escaped bytes that are not UTF-8')
  }
}

/** A place of a placeholder in a filter. */
export interface FilterPlace {
  attribute: string
  /** The value is the placeholder and nothing else. */
  isWhole: boolean
  /** It is compared as a whole value, and a match is required: neither a part of a text, nor inside of `!`. */
  isCompared: boolean
}

/** Where a filter has a placeholder. Throws as `readFilter` does. */
export function placesIn(text: string, placeholder: string): FilterPlace[] {
  // A noncharacter: no filter has it.
  const mark = '\uFFFE'
  const places: FilterPlace[] = []
  const look = (filter: Filter, isNegated: boolean): void => {
    if ('filters' in filter) for (const inner of filter.filters) look(inner, isNegated)
    else if (filter.kind === 'not') look(filter.filter, true)
    else if (filter.kind !== 'present') {
      const values = filter.kind === 'substrings' ? [filter.initial, ...filter.any, filter.final] : [filter.value]
      if (!values.some(value => String(value).includes(mark))) return
      const isCompared = !isNegated && (filter.kind === 'equal' || filter.kind === 'rule')
      places.push({ attribute: filter.attribute, isWhole: isCompared && values[0] === mark, isCompared })
    }
  }
  look(readFilter(text, { [placeholder]: mark }), false)
  return places
}
