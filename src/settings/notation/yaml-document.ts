import {
  CORE_SCHEMA,
  type ConstructorOptions,
  constructFromEvents,
  defineMappingTag,
  EVENT_ID,
  type Event,
  getScalarValue,
  parseEvents,
  SCALAR_STYLE,
  YAMLException,
} from 'js-yaml'
import { LineCounter } from 'yaml'
import { emptySection, isSection, type KeyPath, type Section } from './written.ts'

const SectionTag = defineMappingTag<Section>('tag:yaml.org,2002:map', {
  create: emptySection,
  identify: () => false,
  addPair(section, key, value) {
    if (typeof key === 'object' && key !== null) return 'a key is no text'
    section[String(key)] = value
    return ''
  },
  has: (section, key) => Object.hasOwn(section, String(key)),
  keys: section => Object.keys(section),
  get: (section, key) => section[String(key)],
})
const SCHEMA = CORE_SCHEMA.withTags(SectionTag)

/** A key that is written for a second time in its section: the offsets of both. */
interface Duplicate {
  name: string
  first: number
  second: number
}

/** A text of YAML that was read: its value, and where each part of it is written, as offsets in the text. */
export class YamlDocument {
  /** Sections, lists, texts, numbers, booleans and `null`; an empty section for a text without content. */
  readonly value: unknown = emptySection()
  readonly duplicates: Duplicate[] = []
  /** Where an alias stands for a value that has an anchor. The value is then an empty section. */
  readonly aliases: KeyPath[] = []
  readonly #text: string
  /** The nodes, one after the other: a collection, what it contains, its end. */
  readonly #events: Event[]
  /** For each node the index of the event behind it. */
  #behind: Uint32Array | undefined
  #lines: LineCounter | undefined

  /** Throws `YAMLException` for a text that is not one document of YAML. */
  constructor(text: string) {
    this.#text = text
    this.#events = parseEvents(text, {})
    try {
      this.value = this.#construct({ maxAliases: 0 })
    } catch (error) {
      this.#survey(ROOT, [])
      if (this.duplicates.length + this.aliases.length === 0) throw error
      // Of a key that is written twice, the last one counts.
      if (this.aliases.length === 0) this.value = this.#construct({ json: true })
    }
  }

  #construct(options: Pick<ConstructorOptions, 'maxAliases' | 'json'>): unknown {
    const documents = constructFromEvents(this.#events, { source: this.#text, schema: SCHEMA, ...options })
    if (documents.length > 1) throw new YAMLException('a second document begins')
    return documents.length === 0 ? emptySection() : documents[0]
  }

  /** Where a value begins, or the nearest thing around it that is written, which so many parts of the path lead to. */
  positionOf(path: KeyPath): { offset: number | null; depth: number } {
    let node = ROOT
    let offset: number | null = null
    for (const [depth, part] of path.entries()) {
      const found = this.#find(node, part)
      if (found === undefined) return { offset, depth }
      node = found.value
      offset = this.#offsetOf(found.key ?? node) ?? offset
    }
    return { offset, depth: path.length }
  }

  /**
   * Where a value or a key is not read as it is written: a number is rounded, and a key in another form than JSON has, such as
   * `0x1F`, becomes another text. None beside duplicates and aliases, for which there are no values to compare.
   */
  altered(): KeyPath[] {
    return this.duplicates.length + this.aliases.length > 0 ? [] : this.#alteredIn(ROOT, this.value, [])
  }

  #alteredIn(node: number, value: unknown, path: KeyPath): KeyPath[] {
    const event = this.#events[node]
    if (typeof value === 'number' && event?.type === EVENT_ID.SCALAR)
      return isExact(getScalarValue(this.#text, event), value) ? [] : [path]
    if (Array.isArray(value))
      return this.#nodesIn(node).flatMap((item, index) => this.#alteredIn(item, value[index], [...path, index]))
    if (!isSection(value) || event?.type !== EVENT_ID.MAPPING) return []
    return this.#pairsOf(node).flatMap(({ key, value: inner }) => {
      const name = this.#nameOf(key)
      const below = [...path, name]
      return Object.hasOwn(value, name) ? this.#alteredIn(inner, value[name], below) : [below]
    })
  }

  lineAt(offset: number): number {
    this.#lines ??= linesOf(this.#text)
    return this.#lines.linePos(offset).line
  }

  #find(node: number, part: string | number): { key?: number; value: number } | undefined {
    const type = this.#events[node]?.type
    if (type === EVENT_ID.MAPPING) return this.#pairsOf(node).findLast(({ key }) => this.#nameOf(key) === part)
    const value = type === EVENT_ID.SEQUENCE && typeof part === 'number' ? this.#nodesIn(node)[part] : undefined
    return value === undefined ? undefined : { value }
  }

  /** Finds duplicates and aliases in a node. */
  #survey(node: number, path: KeyPath): void {
    const type = this.#events[node]!.type
    if (type === EVENT_ID.ALIAS) this.aliases.push(path)
    if (type === EVENT_ID.SEQUENCE)
      this.#nodesIn(node).forEach((item, index) => void this.#survey(item, [...path, index]))
    if (type !== EVENT_ID.MAPPING) return
    const firstOf = new Map<string, number>()
    for (const { key, value } of this.#pairsOf(node)) {
      const name = this.#nameOf(key)
      const first = firstOf.get(name)
      if (first === undefined) firstOf.set(name, key)
      else this.duplicates.push({ name, first: this.#offsetOf(first) ?? 0, second: this.#offsetOf(key) ?? 0 })
      this.#survey(value, [...path, name])
    }
  }

  #pairsOf(mapping: number): { key: number; value: number }[] {
    const nodes = this.#nodesIn(mapping)
    return Array.from({ length: nodes.length / 2 }, (_, i) => ({ key: nodes[2 * i]!, value: nodes[2 * i + 1]! }))
  }

  #nodesIn(collection: number): number[] {
    this.#behind ??= behindEach(this.#events)
    const end = this.#behind[collection]! - 1
    const nodes = []
    for (let node = collection + 1; node < end; node = this.#behind[node]!) nodes.push(node)
    return nodes
  }

  #nameOf(key: number): string {
    const event = this.#events[key]!
    return event.type === EVENT_ID.SCALAR ? getScalarValue(this.#text, event) : '?'
  }

  /** `null` for a node that is not written, as a value is not that is left out. */
  #offsetOf(node: number): number | null {
    const event = this.#events[node]!
    if ('start' in event) return event.start
    if (event.type === EVENT_ID.ALIAS) return event.anchorStart
    if (event.type !== EVENT_ID.SCALAR || event.valueStart < 0) return null
    // The text of a block begins in the line below that in which the block does.
    return event.style >= SCALAR_STYLE.LITERAL_BLOCK ? event.valueStart - 1 : event.valueStart
  }
}

/** Behind the event that begins the document. */
const ROOT = 1

function behindEach(events: readonly Event[]): Uint32Array {
  const behind = new Uint32Array(events.length)
  const open: number[] = []
  for (const [index, { type }] of events.entries()) {
    if (type === EVENT_ID.SCALAR || type === EVENT_ID.ALIAS) behind[index] = index + 1
    else if (type === EVENT_ID.POP) behind[open.pop()!] = index + 1
    else open.push(index)
  }
  return behind
}

/** Whether JSON has the number that is written. Of two numbers that are rounded to one value, it can have one at most. */
const isExact = (written: string, value: number): boolean => decimalOf(written) === decimalOf(String(value))

/** One form for each number without its sign: its digits, and the power of ten behind them. */
function decimalOf(number: string): string {
  const text = /^[-+]?0[box]/.test(number) ? String(BigInt(number.replace(/^[-+]/, ''))) : number
  const found = /^[-+]?(\d*)\.?(\d*)(?:e([-+]?\d+))?$/i.exec(text)
  if (found === null) return text
  const [, whole = '', fraction = '', power = '0'] = found
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  const exponent = Number(power) - fraction.length + digits.length - significant.length
  return significant === '' ? '0' : `${significant}e${exponent}`
}

function linesOf(text: string): LineCounter {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) lines.addNewLine(end + 1)
  return lines
}
