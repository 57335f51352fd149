/*
 * HTTP/1.1 read the strict way (RFC 9112), independently of Node's parser and of the gateway's client: what could be
 * read in two ways throws. Bytes are latin1 text, one character each.
 */

export interface Message {
  /** Request line or status line. */
  line: string
  /** Header lines as they were written, in their order. */
  headers: string[]
  /** The body without its framing. */
  body: string
  trailers: string[]
}

/**
 * Whether the body of a message is left out though its head announces one (answers to HEAD, 1xx, 204, 304). `index`
 * counts the messages before it that were no informational responses.
 */
export type IsBodiless = (line: string, index: number) => boolean

const FIELD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[ \t]*[\t\x20-\x7e\x80-\xff]*$/
const CHUNK_SIZE = /^([0-9A-Fa-f]{1,8})$/
const REQUEST_LINE = /^[A-Z]+ [\x21-\x7e]+ HTTP\/1\.1$/
const STATUS_LINE = /^HTTP\/1\.1 \d{3} [\t\x20-\x7e\x80-\xff]*$/

/** Reads messages from what arrives on one connection. */
export class HttpReader {
  readonly #startLine: RegExp
  readonly #isBodiless: IsBodiless
  #text = ''
  #writer = 0

  constructor(kind: 'requests' | 'responses', isBodiless: IsBodiless = () => false) {
    this.#startLine = kind === 'requests' ? REQUEST_LINE : STATUS_LINE
    this.#isBodiless = isBodiless
  }

  /** The messages that are complete now. */
  read(chunk: Buffer): Message[] {
    this.#text += chunk.toString('latin1')
    const complete: Message[] = []
    for (let found = this.#next(); found !== null; found = this.#next()) {
      this.#text = this.#text.slice(found.end)
      if (!isInformational(found.message.line)) this.#writer++
      complete.push(found.message)
    }
    return complete
  }

  /** What arrived of a message that is not complete. */
  get rest(): string {
    return this.#text
  }

  #next(): { message: Message; end: number } | null {
    const end = this.#text.indexOf('\r\n\r\n')
    if (end === -1) return null
    const [line = '', ...headers] = linesOf(this.#text.slice(0, end))
    if (!this.#startLine.test(line)) throw new Error(`not a start line: ${JSON.stringify(line)}`)
    for (const header of headers) {
      if (!FIELD.test(header)) throw new Error(`not a header: ${JSON.stringify(header)}`)
    }
    const message: Message = { line, headers, body: '', trailers: [] }
    const start = end + 4
    if (this.#isBodiless(line, this.#writer)) return { message, end: start }
    const length = framingOf(headers)
    if (length === 'chunked') return this.#chunks(message, start)
    if (this.#text.length < start + length) return null
    message.body = this.#text.slice(start, start + length)
    return { message, end: start + length }
  }

  #chunks(message: Message, from: number): { message: Message; end: number } | null {
    for (let at = from; ; ) {
      const end = this.#text.indexOf('\r\n', at)
      if (end === -1) return null
      const size = CHUNK_SIZE.exec(this.#text.slice(at, end))?.[1]
      if (size === undefined) throw new Error(`not a chunk size: ${JSON.stringify(this.#text.slice(at, end))}`)
      const length = Number.parseInt(size, 16)
      if (length === 0) return this.#trailers(message, end + 2)
      const next = end + 2 + length + 2
      if (this.#text.length < next) return null
      if (this.#text.slice(next - 2, next) !== '\r\n') throw new Error('a chunk that is longer than its size')
      message.body += this.#text.slice(end + 2, next - 2)
      at = next
    }
  }

  #trailers(message: Message, at: number): { message: Message; end: number } | null {
    if (this.#text.startsWith('\r\n', at)) return { message, end: at + 2 }
    const end = this.#text.indexOf('\r\n\r\n', at)
    if (end === -1) return null
    message.trailers = linesOf(this.#text.slice(at, end))
    return { message, end: end + 4 }
  }
}

function linesOf(text: string): string[] {
  const lines = text.split('\r\n')
  for (const line of lines) if (/[\r\n\0]/.test(line)) throw new Error(`a bare line end: ${JSON.stringify(line)}`)
  return lines
}

export const isInformational = (line: string): boolean => /^HTTP\/1\.1 1\d\d /.test(line)

/** Name in lower case, and value. */
export function fieldOf(header: string): [name: string, value: string] {
  const colon = header.indexOf(':')
  return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()]
}

/** The first value of a header; `undefined` if absent. */
export function headerOf(message: Message, name: string): string | undefined {
  for (const header of message.headers) {
    const [found, value] = fieldOf(header)
    if (found === name) return value
  }
  return undefined
}

function framingOf(headers: readonly string[]): number | 'chunked' {
  const of = (name: string): string[] =>
    headers
      .map(fieldOf)
      .filter(([found]) => found === name)
      .map(([, value]) => value)
  const [lengths, codings] = [of('content-length'), of('transfer-encoding')]
  if (lengths.length + codings.length > 1) throw new Error('framed more than once')
  if (codings.length === 1) {
    if (codings[0]!.toLowerCase() !== 'chunked') throw new Error(`framed by ${codings[0]}`)
    return 'chunked'
  }
  if (lengths.length === 0) return 0
  if (!/^\d{1,15}$/.test(lengths[0]!)) throw new Error(`a length of ${lengths[0]}`)
  return Number(lengths[0])
}
