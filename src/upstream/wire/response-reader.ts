import { HeldBytes } from './held-bytes.ts'
import {
  canBeHead,
  endsWithHead,
  MalformedResponse,
  type ResponseStart,
  readHead,
  readTrailers,
  TOKEN,
} from './read-response-head.ts'
import type { Receiver } from './receiver.ts'

/** Maximum bytes of a response's head, or of its trailer section; more is a failure of the upstream. */
const MAX_HEAD_BYTES = 32_768
/** Maximum bytes of the line before a chunk: its size, and extensions, which are ignored. */
const MAX_CHUNK_LINE_BYTES = 1024

/** How many informational responses may come before the final one; more is a failure of the upstream. */
const MAX_INFORMATIONAL = 1000

const LINE_END = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')
const QUOTED = '"(?:[\\t\\x20\\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t\\x20-\\x7e\\x80-\\xff])*"'
/** Extensions have one form (RFC 9112 7.1.1), and others are refused, as by other parsers. Some servers pad the size with spaces. */
const CHUNK_LINE = new RegExp(`^([0-9A-Fa-f]{1,13})[\\t ]*(?:(?:;${TOKEN}(?:=(?:${TOKEN}|${QUOTED}))?)+[\\t ]*)?$`)

/** The kind of the next bytes. */
type Part = 'head' | 'body' | 'rest' | 'chunk-line' | 'chunk' | 'chunk-end' | 'trailers' | 'nothing'

/** More bytes are needed. */
const INCOMPLETE = -1

const NO_TRAILERS: string[] = []

/** Parses the responses of one connection, one at a time, and calls their receivers. */
export class ResponseReader {
  #part: Part = 'nothing'
  #receiver: Receiver | null = null
  #method = ''
  /** How many informational responses have come. */
  #informational = 0
  /** Remaining bytes of the body, or of the chunk. */
  #left = 0
  /** The received part of an incomplete line or head. */
  #held: HeldBytes | null = null
  /** Bytes of it in which no end was found. They are not searched again: a head may arrive in pieces of one byte. */
  #searched = 0
  /** What the last response says of the connection. Its head as a whole is not kept: see `ClientConnection`. */
  #keepsAlive = false
  #keepAliveSeconds: number | null = null
  /** Data arrived without a waiting request. */
  #surplus = false

  /** Expects the response to a request of this method. */
  begin(receiver: Receiver, method: string): void {
    this.#receiver = receiver
    this.#method = method
    this.#part = 'head'
    this.#keepsAlive = false
    this.#keepAliveSeconds = null
    this.#informational = 0
  }

  /** The receiver gets nothing more. */
  abandon(): void {
    this.#receiver = null
    this.#part = 'nothing'
  }

  get awaitsHead(): boolean {
    return this.#part === 'head'
  }

  /** Whether the response is complete, or none was expected. */
  get isOver(): boolean {
    return this.#part === 'nothing'
  }

  /** Whether the connection can be reused after this response. A server may answer HEAD with a body by mistake. */
  get keepsAlive(): boolean {
    return this.#keepsAlive && !this.#surplus && this.#method !== 'HEAD'
  }

  get keepAliveSeconds(): number | null {
    return this.#keepAliveSeconds
  }

  /** Throws `MalformedResponse`, and exceptions of the receiver. */
  read(arrived: Buffer): void {
    const held = this.#held
    const bytes = held === null ? arrived : held.add(arrived)
    let at = 0
    while (at < bytes.length && this.#part !== 'nothing') {
      const next = this.#readPart(bytes, at)
      if (next === INCOMPLETE) {
        if (held === null || at > 0) this.#held = new HeldBytes(bytes.subarray(at))
        this.#searched = bytes.length - at
        return
      }
      this.#searched = 0
      at = next
    }
    this.#held = null
    if (at < bytes.length) this.#surplus = true
  }

  /** The upstream sends nothing more. Throws if the response is incomplete. */
  end(): void {
    if (this.#part === 'rest') this.#complete(NO_TRAILERS)
    else if (this.#part !== 'nothing') throw new MalformedResponse('the connection ended before it did')
  }

  #readPart(bytes: Buffer, at: number): number {
    switch (this.#part) {
      case 'head':
        return this.#readHead(bytes, at)
      case 'body':
      case 'chunk':
        return this.#readCounted(bytes, at)
      case 'rest':
        this.#receiver!.onData(at === 0 ? bytes : bytes.subarray(at))
        return bytes.length
      case 'chunk-line':
        return this.#readChunkLine(bytes, at)
      case 'chunk-end':
        return this.#readChunkEnd(bytes, at)
      default:
        return this.#readTrailers(bytes, at)
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    const end = this.#findHeadEnd(bytes, at)
    if (end === -1 ? bytes.length - at > MAX_HEAD_BYTES : end - at > MAX_HEAD_BYTES)
      throw new MalformedResponse('a head of more than 32 KiB')
    if (end === -1) {
      if (!canBeHead(bytes, at, at + this.#searched)) throw new MalformedResponse('it does not begin as one')
      return INCOMPLETE
    }
    const start = readHead(bytes.toString('latin1', at, end))
    const { status } = start
    // No other protocol was requested.
    if (status === 101) throw new MalformedResponse('a switch of protocols')
    if (status < 200 && ++this.#informational > MAX_INFORMATIONAL) {
      throw new MalformedResponse('too many informational responses')
    }
    this.#receiver!.onHeaders(status, start.headers)
    if (status >= 200 && this.#receiver !== null) this.#beginBody(start)
    return end + HEAD_END.length
  }

  #findHeadEnd(bytes: Buffer, at: number): number {
    // Of the end itself, a part may have been there before.
    return bytes.indexOf(HEAD_END, at + Math.max(0, this.#searched - HEAD_END.length + 1))
  }

  /** RFC 9112 6.3. */
  #beginBody({ status, isChunked, length, keepsAlive, keepAliveSeconds }: ResponseStart): void {
    this.#keepsAlive = keepsAlive
    this.#keepAliveSeconds = keepAliveSeconds
    if (endsWithHead(this.#method, status) || length === 0) {
      this.#complete(NO_TRAILERS)
    } else if (isChunked) {
      this.#part = 'chunk-line'
    } else if (length > 0) {
      this.#part = 'body'
      this.#left = length
    } else {
      this.#part = 'rest'
      this.#keepsAlive = false
    }
  }

  #readCounted(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.#left -= end - at
    this.#receiver!.onData(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
    if (this.#left > 0 || this.#receiver === null) return end
    if (this.#part === 'chunk') this.#part = 'chunk-end'
    else this.#complete(NO_TRAILERS)
    return end
  }

  #readChunkLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LINE_END, at)
    if ((end === -1 ? bytes.length : end) - at > MAX_CHUNK_LINE_BYTES) throw new MalformedResponse('no size of a chunk')
    if (end === -1) return INCOMPLETE
    const size = CHUNK_LINE.exec(bytes.toString('latin1', at, end))?.[1]
    if (size === undefined) throw new MalformedResponse('no size of a chunk')
    this.#left = Number.parseInt(size, 16)
    this.#part = this.#left === 0 ? 'trailers' : 'chunk'
    return end + LINE_END.length
  }

  #readChunkEnd(bytes: Buffer, at: number): number {
    if (bytes.length - at < LINE_END.length) return INCOMPLETE
    if (!startsWithLineEnd(bytes, at)) throw new MalformedResponse('a chunk that is longer than it says')
    this.#part = 'chunk-line'
    return at + LINE_END.length
  }

  #readTrailers(bytes: Buffer, at: number): number {
    if (bytes.length - at < LINE_END.length) return INCOMPLETE
    if (startsWithLineEnd(bytes, at)) {
      this.#complete(NO_TRAILERS)
      return at + LINE_END.length
    }
    const end = this.#findHeadEnd(bytes, at)
    if ((end === -1 ? bytes.length : end) - at > MAX_HEAD_BYTES) throw new MalformedResponse('too many trailers')
    if (end === -1) return INCOMPLETE
    this.#complete(readTrailers(bytes.toString('latin1', at, end)))
    return end + HEAD_END.length
  }

  #complete(trailers: string[]): void {
    this.#part = 'nothing'
    const receiver = this.#receiver
    this.#receiver = null
    receiver!.onComplete(trailers)
  }
}

const startsWithLineEnd = (bytes: Buffer, at: number): boolean => bytes[at] === 13 && bytes[at + 1] === 10
