import { randomBytes } from 'node:crypto'

/*
 * The framing of RFC 6455, as far as an intermediary needs it: where frames end, and whether they are valid. Payloads
 * are neither unmasked nor inspected.
 */

/** Status codes of close frames: RFC 6455 7.4, the registry of IANA, and one of our own. */
export const CLOSE = {
  goingAway: 1001,
  protocolError: 1002,
  tooBig: 1009,
  tryAgainLater: 1013,
  badGateway: 1014,
  /** The session has ended; what 401 is to a request. */
  sessionEnded: 4401,
} as const

export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE]

const CONTINUATION = 0
const TEXT = 1
const BINARY = 2
const CLOSE_FRAME = 8
const PONG = 10
const MAX_CONTROL_PAYLOAD = 125
const MASK_BYTES = 4
/** No message is longer. */
const MAX_LENGTH = Number.MAX_SAFE_INTEGER

const NOTHING = Buffer.alloc(0)

/** What `read` stops in front of: nothing, the next frame, or a close frame. */
export type Until = 'end' | 'frame' | 'close'

/**
 * Follows the frames of one direction as they pass in pieces of any size. Without extensions, so the reserved bits are
 * 0 (5.2). `isMasked` says whether the sender masks, as clients have to (5.1). The head of a frame passes whole and
 * checked or not at all: so a fault is always found between two frames, where a close frame can be inserted.
 */
export class FrameReader {
  /** The fault, if there was one: then nothing more is read. */
  fault: CloseCode | null = null
  /** Whether a close frame has passed: no frame may follow it. */
  isClosed = false
  /** Whether a close frame is next, where `read` was to stop in front of it. */
  isAtClose = false
  readonly #isMasked: boolean
  readonly #maxMessage: number
  /** The beginning of a head, until the rest of it comes. */
  #held: Buffer = NOTHING
  /** Bytes that are left of the mask and the payload. */
  #left = 0
  #opcode = 0
  /** Whether a message is under way whose last frame is still to come, */
  #isFragmented = false
  /** and how many bytes of the message there have been. */
  #message = 0

  constructor(isMasked: boolean, maxMessage = MAX_LENGTH) {
    this.#isMasked = isMasked
    this.#maxMessage = maxMessage
  }

  /** Whether only complete frames have passed, so that another one can be inserted. */
  get isBetweenFrames(): boolean {
    return this.#left === 0
  }

  /**
   * Reads on and returns the bytes that may pass: all, except an invalid frame, data after a close frame, and what
   * `until` excludes. An incomplete head is held back until it is complete.
   */
  read(bytes: Buffer, until: Until = 'end'): Buffer {
    const all = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes])
    const passed = this.#readOn(all, until)
    this.#held = NOTHING
    if (passed === all.length) return all
    const isPartOfHead = this.fault === null && !this.isClosed && !this.isAtClose && until !== 'frame'
    if (isPartOfHead) this.#held = Buffer.from(all.subarray(passed))
    return all.subarray(0, passed)
  }

  #readOn(bytes: Buffer, until: Until): number {
    let at = 0
    while (at < bytes.length && this.fault === null && !this.isClosed) {
      if (this.#left === 0) {
        if (until === 'frame') return at
        const head = this.#readHead(bytes, at, until)
        if (head === 0) return at
        at += head
      }
      const skipped = Math.min(this.#left, bytes.length - at)
      this.#left -= skipped
      at += skipped
      if (this.#left === 0) this.isClosed = this.#opcode === CLOSE_FRAME
      if (until === 'frame' && this.#left === 0) return at
    }
    return at
  }

  /** How long the head at this place is, without its mask; 0 with a fault, or when part of it is still to come. */
  #readHead(bytes: Buffer, at: number, until: Until): number {
    const first = bytes[at]!
    this.fault = this.#faultOfFirst(first)
    const second = bytes[at + 1]
    if (this.fault !== null || second === undefined) return 0
    const opcode = first & 0x0f
    this.fault = this.#faultOfSecond(opcode, second)
    const seven = second & 0x7f
    const extended = seven < 126 ? 0 : seven === 126 ? 2 : 8
    if (this.fault !== null || bytes.length - at < 2 + extended) return 0
    if (until === 'close' && opcode === CLOSE_FRAME) {
      this.isAtClose = true
      return 0
    }
    const length =
      extended === 0 ? seven : extended === 2 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2))
    this.fault = this.#faultOfLength(opcode, length)
    if (this.fault !== null) return 0
    this.#opcode = opcode
    if (opcode < CLOSE_FRAME) this.#isFragmented = (first & 0x80) === 0
    this.#left = length + (this.#isMasked ? MASK_BYTES : 0)
    return 2 + extended
  }

  #faultOfFirst(byte: number): CloseCode | null {
    const isLast = (byte & 0x80) !== 0
    const opcode = byte & 0x0f
    if ((byte & 0x70) !== 0) return CLOSE.protocolError
    if (opcode >= CLOSE_FRAME) return isLast && opcode <= PONG ? null : CLOSE.protocolError
    const isRightTime = this.#isFragmented ? opcode === CONTINUATION : opcode === TEXT || opcode === BINARY
    return isRightTime ? null : CLOSE.protocolError
  }

  #faultOfSecond(opcode: number, byte: number): CloseCode | null {
    if (byte >= 0x80 !== this.#isMasked) return CLOSE.protocolError
    return opcode >= CLOSE_FRAME && (byte & 0x7f) > MAX_CONTROL_PAYLOAD ? CLOSE.protocolError : null
  }

  #faultOfLength(opcode: number, length: number): CloseCode | null {
    if (opcode >= CLOSE_FRAME) return null
    this.#message = opcode === CONTINUATION ? this.#message + length : length
    return this.#message > this.#maxMessage ? CLOSE.tooBig : null
  }
}

/** A close frame as a server sends it, or masked, as a client does. Reasons are ASCII, and short enough for a control frame. */
export function closeFrame(code: CloseCode, reason: string, { isMasked }: { isMasked: boolean }): Buffer {
  const payload = Buffer.alloc(2 + reason.length)
  payload.writeUInt16BE(code)
  payload.write(reason, 2, 'latin1')
  const head = Buffer.from([0x80 | CLOSE_FRAME, (isMasked ? 0x80 : 0) | payload.length])
  if (!isMasked) return Buffer.concat([head, payload])
  const mask = randomBytes(MASK_BYTES)
  for (let i = 0; i < payload.length; i++) payload[i]! ^= mask[i % MASK_BYTES]!
  return Buffer.concat([head, mask, payload])
}
