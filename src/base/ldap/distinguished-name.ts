/* Distinguished names (RFC 4514): `CN=Ops,OU=Groups,DC=example,DC=com`. */

/** Names of attributes that may be written as numbers (RFC 4514, 3). */
const NAMES: Readonly<Record<string, string>> = {
  '2.5.4.3': 'cn',
  '2.5.4.6': 'c',
  '2.5.4.7': 'l',
  '2.5.4.8': 'st',
  '2.5.4.9': 'street',
  '2.5.4.10': 'o',
  '2.5.4.11': 'ou',
  '0.9.2342.19200300.100.1.1': 'uid',
  '0.9.2342.19200300.100.1.25': 'dc',
}

/** One level of a name, and how it was written. */
interface Level {
  written: string
  /** Mostly one; several are joined by `+`, in any order. */
  parts: [type: string, value: string][]
}

/**
 * A name in the form in which names are compared: equal if directories take the names for equal. Case of letters, spaces
 * around separators, repeated spaces and forms of escapes do not count. `null` if it is not a name.
 */
export function comparableName(text: string): string | null {
  const levels = levelsOf(text)
  if (levels === null) return null
  return JSON.stringify(levels.map(({ parts }) => parts.map(([type, value]) => [type, comparable(value)]).sort(byText)))
}

/** The end of a name that consists of `DC`: the domain of an entry. The whole name without one. */
export function domainOf(text: string): string {
  const levels = levelsOf(text) ?? []
  const isDomain = ({ parts }: Level): boolean => parts.length === 1 && parts[0]![0] === 'dc'
  const first = levels.findLastIndex(level => !isDomain(level)) + 1
  const domain = levels.slice(first).map(({ written }) => written.trim())
  return domain.length === 0 ? text : domain.join(',')
}

const byText = (one: unknown, other: unknown): number => (String(one) < String(other) ? -1 : 1)

const comparable = (value: string): string => value.normalize('NFC').toLowerCase().trim().replace(/ +/g, ' ')

function levelsOf(text: string): Level[] | null {
  const levels = divided(text, ',')
  const read = levels.map(written => {
    const parts = divided(written, '+').map(partOf)
    return parts.includes(null) ? null : { written, parts: parts as Level['parts'] }
  })
  return read.includes(null) ? null : (read as Level[])
}

/** The pieces between separators that are not escaped. */
function divided(text: string, separator: ',' | '+'): string[] {
  const pieces = ['']
  for (const [sign] of text.matchAll(/\\?./gsu)) {
    if (sign === separator) pieces.push('')
    else pieces[pieces.length - 1] += sign
  }
  return pieces
}

function partOf(written: string): Level['parts'][number] | null {
  const [, type = '', raw = ''] = /^\s*([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)\s*=\s*(.*)$/su.exec(written) ?? []
  const value = type === '' ? null : readValue(raw)
  return value === null ? null : [NAMES[type] ?? type.toLowerCase(), value]
}

/** The text of a value: `\,` and `\2C` are a comma, and `#` begins the bytes of a value. */
function readValue(raw: string): string | null {
  if (raw.startsWith('#')) return ofBytes(raw.trimEnd())
  const kept = withoutLastSpaces(raw)
  if (/["<>;\\]/.test(kept.replace(/\\./gsu, ''))) return null
  const bytes: Buffer[] = []
  for (const [sign, hex] of kept.matchAll(/\\([0-9A-Fa-f]{2})|\\.|./gsu)) {
    bytes.push(hex === undefined ? Buffer.from(sign.replace(/^\\/, '')) : Buffer.from(hex, 'hex'))
  }
  return utf8(Buffer.concat(bytes))
}

/** An escaped space at the end belongs to the value. A loop: an expression would be tried at each space of a long run. */
function withoutLastSpaces(text: string): string {
  let end = text.length
  while (text[end - 1] === ' ' && text[end - 2] !== '\\') end--
  return text.slice(0, end)
}

/** Tags of the texts that BER has for the values of names: octets, UTF-8, printable and IA5. */
const TEXT_TAGS: ReadonlySet<number> = new Set([0x04, 0x0c, 0x13, 0x16])

/** `#0C034F7073` is `Ops`, as BER writes it; a value of another kind is known by its bytes. */
function ofBytes(raw: string): string | null {
  if (!/^#(?:[0-9A-Fa-f]{2})+$/.test(raw)) return null
  const bytes = Buffer.from(raw.slice(1), 'hex')
  const isText = TEXT_TAGS.has(bytes[0]!) && bytes.length >= 2 && bytes[1] === bytes.length - 2 && bytes[1] < 0x80
  return (isText ? utf8(bytes.subarray(2)) : null) ?? raw
}

function utf8(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}
