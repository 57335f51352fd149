import type { Socket } from 'node:net'
import { CLOSE, type CloseCode, closeFrame, FrameReader } from './frames.ts'

/** How long the two ends may take to part once one of them wants to, in milliseconds. */
const PARTING_LIMIT = 5000
/** The same when it is the gateway that parts them. */
const CLOSING_LIMIT = 1000

const REASONS: Readonly<Record<CloseCode, string>> = {
  [CLOSE.goingAway]: 'going away',
  [CLOSE.protocolError]: 'protocol error',
  [CLOSE.tooBig]: 'message too big',
  [CLOSE.tryAgainLater]: 'try again later',
  [CLOSE.badGateway]: 'bad gateway',
  [CLOSE.sessionEnded]: 'session ended',
}

export interface TunnelOptions {
  caller: Socket
  upstream: Socket
  /** Bytes of a caller's message, at most. */
  maxMessage: number
  /** Called once, when the caller's connection is closed; with the code when it was the gateway that closed it. */
  onClosed(code: CloseCode | null): void
}

/**
 * Two sockets whose bytes go on to each other as they come: each is read only while the other takes what it is given. The
 * frames are followed, so that nothing but frames passes, and so that a close frame of ours comes between two of them.
 */
export class Tunnel {
  readonly #caller: Socket
  readonly #upstream: Socket
  readonly #fromCaller: FrameReader
  readonly #fromUpstream = new FrameReader(false)
  readonly #onClosed: TunnelOptions['onClosed']
  #closing: CloseCode | null = null
  /** Whether the caller has been sent all that it will be. */
  #isDone = false
  #parting: NodeJS.Timeout | null = null
  #traffic = 0
  #quietLooks = 0

  constructor({ caller, upstream, maxMessage, onClosed }: TunnelOptions) {
    this.#caller = caller
    this.#upstream = upstream
    this.#fromCaller = new FrameReader(true, maxMessage)
    this.#onClosed = onClosed
  }

  /** Begins with what each of them has already sent. */
  start(fromCaller: Buffer, fromUpstream: Buffer): void {
    const [caller, upstream] = [this.#caller, this.#upstream]
    caller.setNoDelay(true)
    upstream.on('error', () => upstream.destroy())
    caller.on('close', this.#onCallerClosed).on('end', () => this.#part(upstream))
    upstream.on('close', this.#onUpstreamClosed).on('end', this.#onUpstreamEnd)
    caller.on('drain', () => upstream.resume())
    upstream.on('drain', () => caller.resume())
    if (fromCaller.length > 0) this.#onCallerData(fromCaller)
    if (fromUpstream.length > 0) this.#onUpstreamData(fromUpstream)
    caller.on('data', this.#onCallerData)
    upstream.on('data', this.#onUpstreamData)
    // Said before anybody listened.
    if (caller.readableEnded) this.#part(upstream)
    if (upstream.readableEnded) this.#onUpstreamEnd()
  }

  /** How often in a row this was asked while nothing came from either side. */
  countQuiet(): number {
    const traffic = this.#caller.bytesRead + this.#upstream.bytesRead
    this.#quietLooks = traffic === this.#traffic ? this.#quietLooks + 1 : 0
    this.#traffic = traffic
    return this.#quietLooks
  }

  /** Closes both ends with this code: at once, or as soon as the frame is over that the caller is being sent. */
  close(code: CloseCode): void {
    if (this.#closing !== null) return
    this.#closing = code
    const upstream = this.#upstream
    // What is left of the caller's last frame is not waited for: then the upstream sees a broken connection.
    if (this.#fromCaller.isBetweenFrames && !this.#fromCaller.isClosed && upstream.writable) {
      upstream.write(closeFrame(code, REASONS[code], { isMasked: true }))
    }
    this.#caller.resume()
    this.#partWithin(CLOSING_LIMIT)
    if (this.#fromUpstream.isBetweenFrames) this.#sayGoodbye(code)
  }

  #sayGoodbye(code: CloseCode): void {
    if (this.#isDone) return
    this.#isDone = true
    const caller = this.#caller
    if (!this.#fromUpstream.isClosed && caller.writable) {
      caller.write(closeFrame(code, REASONS[code], { isMasked: false }))
    }
    caller.end()
    this.#upstream.destroySoon()
  }

  readonly #onCallerData = (bytes: Buffer): void => {
    if (this.#closing !== null) return
    const passed = this.#fromCaller.read(bytes)
    if (passed > 0 && !send(bytes, passed, this.#upstream)) this.#caller.pause()
    if (this.#fromCaller.fault !== null) this.close(this.#fromCaller.fault)
  }

  readonly #onUpstreamData = (bytes: Buffer): void => {
    if (this.#isDone) return
    const passed = this.#fromUpstream.read(bytes, this.#closing !== null)
    if (passed > 0 && !send(bytes, passed, this.#caller)) this.#upstream.pause()
    if (this.#fromUpstream.fault !== null) this.#breakOff()
    else if (this.#closing !== null && this.#fromUpstream.isBetweenFrames) this.#sayGoodbye(this.#closing)
  }

  /** The upstream sends what is no frame, or leaves in the middle of one: nothing can be put behind that. */
  #breakOff(): void {
    this.#closing ??= CLOSE.badGateway
    this.#isDone = true
    this.#caller.destroy()
  }

  readonly #onUpstreamEnd = (): void => {
    if (!this.#fromUpstream.isBetweenFrames) this.#breakOff()
    else if (this.#fromUpstream.isClosed) this.#part(this.#caller)
    else this.close(CLOSE.badGateway)
  }

  readonly #onUpstreamClosed = (): void => {
    if (this.#caller.destroyed) this.#settle()
    else if (!this.#upstream.readableEnded && !this.#isDone) this.#onUpstreamEnd()
  }

  readonly #onCallerClosed = (): void => {
    this.#isDone = true
    // What it sent last may still be on its way.
    if (this.#caller.readableEnded) this.#part(this.#upstream)
    else this.#upstream.destroy()
    this.#settle()
    this.#onClosed(this.#closing)
  }

  #settle(): void {
    if (this.#parting !== null && this.#upstream.destroyed) clearTimeout(this.#parting)
  }

  /** One side has sent its last: the other may still have something to say. */
  #part(other: Socket): void {
    other.end()
    this.#partWithin(this.#closing === null ? PARTING_LIMIT : CLOSING_LIMIT)
  }

  #partWithin(limit: number): void {
    if (this.#parting !== null) clearTimeout(this.#parting)
    this.#parting = setTimeout(() => {
      this.#caller.destroy()
      this.#upstream.destroy()
    }, limit)
  }
}

/** Answers whether more may follow at once. */
const send = (bytes: Buffer, length: number, to: Socket): boolean =>
  !to.writable || to.write(length === bytes.length ? bytes : bytes.subarray(0, length))
