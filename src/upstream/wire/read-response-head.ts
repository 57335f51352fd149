import { isPlainLength } from '../../base/header-names.ts'
import { memoize } from '../../base/memoize.ts'
import { trimmed } from '../../base/trimmed.ts'

/** An answer that is not HTTP/1.1, or is ambiguous. */
export class MalformedResponse extends Error {
  constructor(fault: string) {
    super(`malformed response: ${fault}`)
    this.name = 'MalformedResponse'
  }
}

/** A response's status line, fields and framing (RFC 9112 6). */
export interface ResponseStart {
  readonly status: number
  /** Names and values in turn. */
  readonly headers: string[]
  /** `-1` if the head does not contain it. */
  readonly length: number
  readonly isChunked: boolean
  /** Whether the connection can be reused. */
  readonly keepsAlive: boolean
  /** How many seconds the upstream keeps the connection; `null` if it does not say. */
  readonly keepAliveSeconds: number | null
}

const PREFIX = 'HTTP/1.'
const CODE_AT = PREFIX.length + 2
const SPACE = 32
const CR = 13

/** Invalid bytes in a line of a head: controls, and a bare CR or LF (RFC 9112 2.2, RFC 9110 5.5). */
const ILLEGAL = /[^\t\r\n\x20-\x7e\x80-\xff]|\r(?!\n)|(?<!\r)\n/
/** A pattern (RFC 9110 5.6.2). */
export const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const WHOLE_TOKEN = new RegExp(`^${TOKEN}$`)
const isToken = memoize(name => WHOLE_TOKEN.test(name))

/** Whether the bytes from `at` on, an incomplete head, can become a valid one. Those up to `checked` could the last time. */
export function canBeHead(bytes: Buffer, at: number, checked: number): boolean {
  const prefix = bytes.toString('latin1', at, at + PREFIX.length)
  if (!PREFIX.startsWith(prefix)) return false
  // A CR at the end of a piece is checked with what follows it.
  const from = checked > at && bytes[checked - 1] === CR ? checked - 1 : checked
  return !ILLEGAL.test(bytes.toString('latin1', from, bytes.at(-1) === CR ? bytes.length - 1 : bytes.length))
}

/** Whether a response to this method ends with its head, whatever its fields announce (RFC 9112 6.3). */
export const endsWithHead = (method: string | undefined, status: number): boolean =>
  method === 'HEAD' || status === 204 || status === 304

/** Reads a head, without the empty line that ends it. Throws `MalformedResponse`. */
export function readHead(text: string): ResponseStart {
  if (ILLEGAL.test(text)) throw new MalformedResponse('an illegal character in its head')
  const lineEnd = text.indexOf('\r\n')
  const status = readStatus(text, lineEnd === -1 ? text.length : lineEnd)
  const headers = lineEnd === -1 ? [] : readFields(text, lineEnd + 2)
  return frame(status, text.charCodeAt(PREFIX.length) === 49, headers)
}

/** `HTTP/1.x SP 3DIGIT [ SP reason ]`. */
function readStatus(text: string, end: number): number {
  const version = text.charCodeAt(PREFIX.length)
  const status = 100 * digitAt(text, CODE_AT) + 10 * digitAt(text, CODE_AT + 1) + digitAt(text, CODE_AT + 2)
  const isStatusLine =
    text.startsWith(PREFIX) &&
    (version === 48 || version === 49) &&
    text.charCodeAt(PREFIX.length + 1) === SPACE &&
    status >= 100 &&
    (end === CODE_AT + 3 || text.charCodeAt(CODE_AT + 3) === SPACE)
  if (!isStatusLine) throw new MalformedResponse('its first line is no status line')
  return status
}

function digitAt(text: string, at: number): number {
  const digit = text.charCodeAt(at) - 48
  return digit >= 0 && digit <= 9 ? digit : Number.NaN
}

/** Reads a trailer section, without the empty line that ends it. Throws `MalformedResponse`. */
export function readTrailers(text: string): string[] {
  if (ILLEGAL.test(text)) throw new MalformedResponse('an illegal character in its trailers')
  return readFields(text, 0)
}

/** Reads field lines, from `start` on. Folded lines are invalid (RFC 9112 5.2). */
function readFields(text: string, start: number): string[] {
  const fields: string[] = []
  for (let at = start; at < text.length; ) {
    const found = text.indexOf('\r\n', at)
    const end = found === -1 ? text.length : found
    const colon = text.indexOf(':', at)
    const name = text.slice(at, colon)
    if (colon === -1 || colon > end || !isToken(name)) throw new MalformedResponse('a line of it is no field')
    fields.push(name, trimmed(text, colon + 1, end))
    at = end + 2
  }
  return fields
}

/** Reads the message's length and the connection options from the fields. Two lengths are invalid. */
function frame(status: number, isLatestMinor: boolean, headers: string[]): ResponseStart {
  let length: string | null = null
  let coding: string | null = null
  let connection = ''
  let keepAlive: string | null = null
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    // Only names of three lengths matter.
    if (name.length !== 10 && name.length !== 14 && name.length !== 17) continue
    const value = headers[i + 1]!
    const lower = name.toLowerCase()
    if (lower === 'connection') connection = connection === '' ? value : `${connection},${value}`
    else if (lower === 'keep-alive') keepAlive = value
    else if (lower === 'content-length') length = length === null ? value : `${length},${value}`
    else if (lower === 'transfer-encoding') coding = coding === null ? value : `${coding},${value}`
  }
  if (coding !== null) requireChunkedAlone(coding, length, isLatestMinor)
  return {
    status,
    headers,
    length: length === null ? -1 : readLength(length),
    isChunked: coding !== null,
    keepsAlive: isLatestMinor ? !names(connection, 'close') : names(connection, 'keep-alive'),
    keepAliveSeconds: keepAlive === null ? null : readKeepAlive(keepAlive),
  }
}

function names(connection: string, option: string): boolean {
  if (connection === '' || connection === 'keep-alive' || connection === 'close') return connection === option
  return connection
    .toLowerCase()
    .split(',')
    .some(name => name.trim() === option)
}

function requireChunkedAlone(coding: string, length: string | null, isLatestMinor: boolean): void {
  // RFC 9112 6.1: the body would arrive in an unannounced coding, or end in two places.
  if (coding.toLowerCase() !== 'chunked') throw new MalformedResponse('a transfer coding other than chunked')
  if (length !== null) throw new MalformedResponse('a length and chunks at once')
  if (!isLatestMinor) throw new MalformedResponse('chunks in HTTP/1.0')
}

/** More would not be exact as a number. */
const MAX_LENGTH_DIGITS = 15

function readLength(text: string): number {
  if (!isPlainLength(text) || text.length > MAX_LENGTH_DIGITS)
    throw new MalformedResponse('a length that is no plain number, or several')
  return Number(text)
}

function readKeepAlive(text: string): number | null {
  const seconds = /(?:^|[\s,;])timeout=(\d{1,6})/i.exec(text)?.[1]
  return seconds === undefined ? null : Number(seconds)
}
