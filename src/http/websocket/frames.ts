import { randomBytes } from 'node:crypto'

/*
 * The framing of RFC 6455, as far as somebody in the middle has to know it: where frames end, and whether they are frames
 * at all. Payloads are neither unmasked nor looked at.
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
/** A length of which a byte is still to come is not larger than this, or it was refused. */
const MAX_LENGTH = Number.MAX_SAFE_INTEGER

/** The part of a frame that the next byte belongs to. */
const Part = { first: 0, second: 1, length: 2, mask: 3, payload: 4 } as const

/**
 * Follows the frames of one direction as they pass in pieces of any size. Without extensions, so the reserved bits are 0
 * (5.2). `isMasked` says whether the sender masks, as callers have to (5.1).
 */
export class FrameReader {
  /** What was wrong, once something was: nothing is read any more. */
  fault: CloseCode | null = null
  /** Whether a close frame has passed: no frame may follow it. */
  isClosed = false
  readonly #isMasked: boolean
  readonly #maxMessage: number
  #part: number = Part.first
  /** Bytes that are left of the part. */
  #left = 1
  #opcode = 0
  #length = 0
  /** Whether a message is under way whose last frame is still to come, */
  #isFragmented = false
  /** and how many bytes of the message there have been. */
  #message = 0

  constructor(isMasked: boolean, maxMessage = MAX_LENGTH) {
    this.#isMasked = isMasked
    this.#maxMessage = maxMessage
  }

  /** Whether everything that passed was whole frames: another one could be put in here. */
  get isBetweenFrames(): boolean {
    return this.#part === Part.first
  }

  /**
   * Reads on and answers how many bytes belong to frames that may pass: all of them, but where there was a fault, and where
   * a close frame ended, and, with `toEndOfFrame`, where the present frame ends.
   */
  read(bytes: Buffer, toEndOfFrame = false): number {
    let at = 0
    while (at < bytes.length && this.fault === null && !this.isClosed) {
      if (toEndOfFrame && this.isBetweenFrames) return at
      at += this.#part >= Part.mask ? this.#skip(bytes.length - at) : this.#take(bytes[at]!)
      if (this.#left === 0) this.#next()
    }
    return at
  }

  #skip(available: number): number {
    const skipped = Math.min(this.#left, available)
    this.#left -= skipped
    return skipped
  }

  #take(byte: number): 0 | 1 {
    if (this.#part === Part.first) this.fault = this.#faultOfFirst(byte)
    else if (this.#part === Part.second) this.fault = this.#faultOfSecond(byte)
    else this.#length = Math.min(this.#length * 256 + byte, MAX_LENGTH)
    if (this.fault !== null) return 0
    this.#left--
    return 1
  }

  #faultOfFirst(byte: number): CloseCode | null {
    const isLast = (byte & 0x80) !== 0
    const opcode = byte & 0x0f
    this.#opcode = opcode
    if ((byte & 0x70) !== 0) return CLOSE.protocolError
    if (opcode >= CLOSE_FRAME) return isLast && opcode <= PONG ? null : CLOSE.protocolError
    const isRightTime = this.#isFragmented ? opcode === CONTINUATION : opcode === TEXT || opcode === BINARY
    this.#isFragmented = !isLast
    return isRightTime ? null : CLOSE.protocolError
  }

  #faultOfSecond(byte: number): CloseCode | null {
    this.#length = byte & 0x7f
    if (byte >= 0x80 !== this.#isMasked) return CLOSE.protocolError
    return this.#opcode >= CLOSE_FRAME && this.#length > MAX_CONTROL_PAYLOAD ? CLOSE.protocolError : null
  }

  /** A part is over: goes on to the next one that has any bytes. */
  #next(): void {
    if (this.#part === Part.first) this.#enter(Part.second, 1)
    else if (this.#part === Part.second && this.#length >= 126) this.#enterLength(this.#length === 126 ? 2 : 8)
    else if (this.#part < Part.mask) this.#enterMask()
    else if (this.#part === Part.mask) this.#enterPayload()
    else this.#endFrame()
  }

  #enterLength(bytes: number): void {
    this.#length = 0
    this.#enter(Part.length, bytes)
  }

  #enterMask(): void {
    this.fault = this.#faultOfLength()
    if (this.#isMasked) this.#enter(Part.mask, MASK_BYTES)
    else this.#enterPayload()
  }

  #enterPayload(): void {
    if (this.#length > 0) this.#enter(Part.payload, this.#length)
    else this.#endFrame()
  }

  #endFrame(): void {
    this.isClosed = this.#opcode === CLOSE_FRAME
    this.#enter(Part.first, 1)
  }

  #enter(part: number, bytes: number): void {
    this.#part = part
    this.#left = bytes
  }

  #faultOfLength(): CloseCode | null {
    if (this.#opcode >= CLOSE_FRAME) return null
    this.#message = this.#opcode === CONTINUATION ? this.#message + this.#length : this.#length
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
