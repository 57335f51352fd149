import type { Socket } from 'node:net'
import { Deadline } from '../../base/deadline.ts'
import { CLOSE, type CloseCode, closeFrame, FrameReader } from './frames.ts'

/** How long both ends may take to close after one of them started, in milliseconds. */
const PARTING_LIMIT = 5000
/** The same, if the gateway closes. */
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
  client: Socket
  upstream: Socket
  /** Bytes of a client's message, at most. */
  maxMessage: number
  /** Called once, when the client's connection is closed; with the code when it was the gateway that closed it. */
  onClosed(code: CloseCode | null): void
}

/**
 * Forwards the bytes of two sockets to each other: each is read only while the other accepts data. Frames are tracked,
 * so that only valid frames pass, and so that a close frame of the gateway is inserted between two of them.
 */
export class Tunnel {
  readonly #client: Socket
  readonly #upstream: Socket
  readonly #fromClient: FrameReader
  readonly #fromUpstream = new FrameReader(false)
  readonly #onClosed: TunnelOptions['onClosed']
  #closing: CloseCode | null = null
  /** Whether the client still gets what the upstream answers to the frames before a bad one. */
  #awaitsUpstream = false
  /** Whether the client has been sent all that it will be. */
  #isDone = false
  #parting: Deadline | null = null
  #traffic = 0
  #quietLooks = 0

  constructor({ client, upstream, maxMessage, onClosed }: TunnelOptions) {
    this.#client = client
    this.#upstream = upstream
    this.#fromClient = new FrameReader(true, maxMessage)
    this.#onClosed = onClosed
  }

  /** Begins with what each of them has already sent. */
  start(fromClient: Buffer, fromUpstream: Buffer): void {
    const [client, upstream] = [this.#client, this.#upstream]
    client.setNoDelay(true)
    upstream.on('error', () => upstream.destroy())
    client.on('close', this.#onClientClosed).on('end', () => this.#part(upstream))
    upstream.on('close', this.#onUpstreamClosed).on('end', this.#onUpstreamEnd)
    client.on('drain', () => upstream.resume())
    upstream.on('drain', () => client.resume())
    if (fromClient.length > 0) this.#onClientData(fromClient)
    if (fromUpstream.length > 0) this.#onUpstreamData(fromUpstream)
    client.on('data', this.#onClientData)
    upstream.on('data', this.#onUpstreamData)
    // Sent before a listener was registered.
    if (client.readableEnded) this.#part(upstream)
    if (upstream.readableEnded) this.#onUpstreamEnd()
  }

  /** How often in a row this was asked while nothing came from either side. */
  countQuiet(): number {
    const traffic = this.#client.bytesRead + this.#upstream.bytesRead
    this.#quietLooks = traffic === this.#traffic ? this.#quietLooks + 1 : 0
    this.#traffic = traffic
    return this.#quietLooks
  }

  /** Closes both ends with this code: at once, or as soon as the frame is over that the client is being sent. */
  close(code: CloseCode): void {
    if (this.#closing === null) this.#close(code, code)
    else if (this.#awaitsUpstream) {
      this.#awaitsUpstream = false
      if (this.#fromUpstream.isBetweenFrames) this.#sayGoodbye(this.#closing)
    }
  }

  #close(code: CloseCode, toUpstream: CloseCode): void {
    this.#closing = code
    const upstream = this.#upstream
    // What is left of the client's last frame is not waited for: then the upstream sees a broken connection.
    if (this.#fromClient.isBetweenFrames && !this.#fromClient.isClosed && upstream.writable) {
      upstream.write(closeFrame(toUpstream, REASONS[toUpstream], { isMasked: true }))
    }
    this.#client.resume()
    this.#partWithin(CLOSING_LIMIT)
    if (!this.#awaitsUpstream && this.#fromUpstream.isBetweenFrames) this.#sayGoodbye(code)
  }

  /**
   * A bad frame of the client's: the upstream has those before it and is asked to close; what it answers until then goes on
   * to the client, and then the code.
   */
  #closeBehindAnswers(code: CloseCode): void {
    this.#awaitsUpstream = this.#upstream.writable && this.#upstream.readable && !this.#fromUpstream.isClosed
    this.#close(code, code)
    if (!this.#awaitsUpstream) return
    this.#after(CLOSING_LIMIT, () => {
      this.#partWithin(CLOSING_LIMIT)
      this.close(code)
    })
  }

  #sayGoodbye(code: CloseCode): void {
    if (this.#isDone) return
    this.#isDone = true
    const client = this.#client
    if (!this.#fromUpstream.isClosed && client.writable) {
      client.write(closeFrame(code, REASONS[code], { isMasked: false }))
    }
    client.end()
    this.#upstream.destroySoon()
  }

  readonly #onClientData = (bytes: Buffer): void => {
    if (this.#closing !== null) return
    if (!send(this.#fromClient.read(bytes), this.#upstream)) this.#client.pause()
    if (this.#fromClient.fault !== null) this.#closeBehindAnswers(this.#fromClient.fault)
  }

  readonly #onUpstreamData = (bytes: Buffer): void => {
    if (this.#isDone) return
    const reader = this.#fromUpstream
    const until = this.#closing === null ? 'end' : this.#awaitsUpstream ? 'close' : 'frame'
    if (!send(reader.read(bytes, until), this.#client)) this.#upstream.pause()
    if (this.#closing === null) {
      if (reader.fault !== null) this.#close(CLOSE.badGateway, reader.fault)
    } else if (reader.fault !== null || reader.isAtClose || (until === 'frame' && reader.isBetweenFrames)) {
      this.#sayGoodbye(this.#closing)
    }
  }

  /** The upstream leaves in the middle of a frame: nothing can be put behind that. */
  #breakOff(): void {
    this.#closing ??= CLOSE.badGateway
    this.#isDone = true
    this.#client.destroy()
  }

  readonly #onUpstreamEnd = (): void => {
    // It follows a client that has left: that is no failure of the upstream, and nothing is left to be said.
    if (this.#closing === null && this.#client.readableEnded) this.#part(this.#client)
    else if (!this.#fromUpstream.isBetweenFrames) this.#breakOff()
    else if (this.#fromUpstream.isClosed) this.#part(this.#client)
    else if (this.#closing === null) this.close(CLOSE.badGateway)
    else this.#sayGoodbye(this.#closing)
  }

  readonly #onUpstreamClosed = (): void => {
    if (this.#client.destroyed) this.#settle()
    else if (!this.#upstream.readableEnded && !this.#isDone) this.#onUpstreamEnd()
  }

  readonly #onClientClosed = (): void => {
    this.#isDone = true
    // What it sent last may still be on its way.
    if (this.#client.readableEnded) this.#part(this.#upstream)
    else this.#upstream.destroy()
    this.#settle()
    this.#onClosed(this.#closing)
  }

  #settle(): void {
    if (this.#upstream.destroyed) this.#parting?.clear()
  }

  /** One side has sent its last: the other may still have something to say. */
  #part(other: Socket): void {
    other.end()
    this.#partWithin(this.#closing === null ? PARTING_LIMIT : CLOSING_LIMIT)
  }

  #partWithin(limit: number): void {
    this.#after(limit, () => {
      this.#client.destroy()
      this.#upstream.destroy()
    })
  }

  #after(limit: number, then: () => void): void {
    this.#parting?.clear()
    this.#parting = new Deadline(limit, then)
  }
}

/** Answers whether more may follow at once. */
const send = (bytes: Buffer, to: Socket): boolean => bytes.length === 0 || !to.writable || to.write(bytes)
