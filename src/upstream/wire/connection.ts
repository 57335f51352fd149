import type { Socket } from 'node:net'
import type { Connect, Opening } from './connect.ts'
import { BodyNotRead, isClosed, isClosedForWriting, ResponseTimeout } from './connection-faults.ts'
import type { Link, Receiver, UpstreamRequest } from './receiver.ts'
import { RequestWriter } from './request-writer.ts'
import { ResponseReader } from './response-reader.ts'
import type { UnwritableRequest } from './write-request-head.ts'

/** A target must keep a connection this much longer than we use it, in milliseconds. */
const KEEP_ALIVE_MARGIN = 1000

export interface ConnectionOptions {
  connect: Connect
  /** How long the head of a response may take, from the end of its request, in milliseconds. */
  responseLimit: number
  /** How long an unused connection is kept, in milliseconds. */
  idleLimit: number
  /** Called when the connection can be used for another request. */
  onFree(connection: Connection): void
  /** Called once when the connection cannot be used any more, before its request gets the error. */
  onGone(connection: Connection): void
  /** Called instead of the receiver if the target closed a used connection before the request on it was written. */
  onUnsent(request: UpstreamRequest, receiver: Receiver): void
}

/** A connection to a target, with one request at a time. It is opened for its first request. */
export class Connection implements Link {
  /** The client whose share it counts for, while a request is on it. */
  client: string | null = null
  readonly #options: ConnectionOptions
  readonly #opening: Opening
  /** Absent until it is connected. */
  #socket: Socket | null = null
  readonly #reader = new ResponseReader()
  readonly #writer: RequestWriter
  #isGone = false
  #isHeld = false
  #receiver: Receiver | null = null
  #request: UpstreamRequest | null = null
  /** Whether the request has been passed to the writer. */
  #isWritten = false
  /** Counts requests, so that later code can recognize an old one. */
  #turn = 0
  /** Both timers continue when they are not needed, and check the state when they expire. */
  #responseTimer: NodeJS.Timeout | null = null
  #idleTimer: NodeJS.Timeout | null = null

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#writer = new RequestWriter({ onProgress: () => this.#awaitHead(), onFault: error => this.#end(error) })
    this.#opening = options.connect((error, socket) => {
      if (error !== null) return this.#end(error)
      this.#socket = socket
      socket.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError).on('close', this.#onClose)
      this.#writer.attach(socket)
      if (this.#receiver !== null) this.#write()
      else options.onFree(this)
    })
  }

  /** Whether another request may be sent. */
  get isFree(): boolean {
    return !this.#isGone && this.#receiver === null && this.#socket !== null
  }

  /** Only on a connection without a request. Never throws: the receiver gets the error. */
  send(request: UpstreamRequest, receiver: Receiver): void {
    this.#request = request
    this.#receiver = receiver
    if (this.#socket !== null) this.#write()
  }

  #write(): void {
    const [request, receiver] = [this.#request!, this.#receiver!]
    this.#turn++
    this.#isWritten = false
    let head: string
    try {
      head = this.#writer.headOf(request)
    } catch (error) {
      this.#giveBack(error as UnwritableRequest)
      return
    }
    receiver.onConnect(this)
    // The receiver may have ended the request at once.
    if (this.#receiver !== receiver) return
    this.#isWritten = true
    this.#reader.begin(receiver, request.method)
    this.#writer.write(head, request.body)
  }

  /** Ends a request of which nothing was written; the connection can still be used. */
  #giveBack(cause: Error): void {
    const receiver = this.#receiver!
    this.#forgetRequest()
    this.#keepIdle(null)
    this.#options.onFree(this)
    receiver.onError(cause)
  }

  #awaitHead(): void {
    const { responseLimit } = this.#options
    if (this.#responseTimer === null) this.#responseTimer = setTimeout(this.#onResponseLimit, responseLimit).unref()
    else this.#responseTimer.refresh()
  }

  #onResponseLimit = (): void => {
    const turn = this.#turn
    // After a stall of this process, data that has arrived meanwhile is handled first.
    setImmediate(() => {
      const isLate = this.#reader.awaitsHead && (this.#writer.isSent || this.#writer.isBlocked)
      if (isLate && turn === this.#turn) this.#end(new ResponseTimeout(this.#options.responseLimit))
    })
  }

  #onData = (chunk: Buffer): void => {
    // Data without a request, or before the request is written, is not an answer.
    if (this.#receiver === null || this.#writer.isUnbegun) {
      this.#endByTarget(new Error('the target sent data before a request'))
      return
    }
    try {
      this.#reader.read(chunk)
    } catch (error) {
      this.#end(error as Error)
      return
    }
    if (this.#isGone) return
    if (this.#reader.isOver) this.#finish()
    else if (!this.#reader.awaitsHead) this.#receiver.onAwait()
  }

  #onEnd = (): void => {
    const { fault } = this.#writer
    // Of an answer that this would end, a part may be missing: the target did not close the connection in order.
    if (fault !== null) {
      this.#endByTarget(this.#causeOf(fault))
      return
    }
    try {
      this.#reader.end()
      this.#forgetRequest()
      this.#end(new Error('closed by the target'))
    } catch (error) {
      this.#endByTarget(this.#causeOf(error as Error))
    }
  }

  #onError = (error: Error): void => this.#endByTarget(this.#causeOf(error))

  #causeOf(error: Error): Error {
    const cause = this.#writer.fault ?? error
    const isUnread = this.#writer.isSent ? isClosedForWriting(cause) : isClosed(cause)
    const awaitsHead = this.#reader.awaitsHead && (this.#request?.body ?? null) !== null
    return isUnread && awaitsHead ? new BodyNotRead(cause) : cause
  }

  #onClose = (): void => this.#endByTarget(this.#causeOf(new Error('closed')))

  /** The response is complete: decides whether the connection can be used again. */
  #finish(): void {
    const isReusable = this.#reader.keepsAlive && this.#writer.isSent
    const { keepAliveSeconds } = this.#reader
    this.#forgetRequest()
    if (this.#isHeld) this.#readOn()
    if (isReusable && this.#keepIdle(keepAliveSeconds)) this.#options.onFree(this)
    else this.#end(new Error('not to be used again'))
  }

  /** Whether the target keeps the connection for long enough. */
  #keepIdle(keepAliveSeconds: number | null): boolean {
    const { idleLimit } = this.#options
    if (keepAliveSeconds !== null && 1000 * keepAliveSeconds - KEEP_ALIVE_MARGIN < idleLimit) {
      const limit = 1000 * keepAliveSeconds - KEEP_ALIVE_MARGIN
      if (limit <= 0) return false
      if (this.#idleTimer !== null) clearTimeout(this.#idleTimer)
      this.#idleTimer = setTimeout(this.#onIdle, limit).unref()
    } else if (this.#idleTimer === null) {
      this.#idleTimer = setTimeout(this.#onIdle, idleLimit).unref()
    } else {
      this.#idleTimer.refresh()
    }
    return true
  }

  /** Restarted every time the connection becomes idle, so when it expires the connection has been idle since. */
  #onIdle = (): void => {
    if (this.#receiver === null) this.close()
  }

  #forgetRequest(): void {
    this.#writer.drop()
    this.#request = null
    this.#receiver = null
  }

  hold(receiver: Receiver): void {
    if (this.#receiver !== receiver) return
    this.#isHeld = true
    this.#socket?.pause()
  }

  resume(receiver: Receiver): void {
    if (this.#receiver === receiver) this.#readOn()
  }

  #readOn(): void {
    this.#isHeld = false
    this.#socket?.resume()
  }

  abort(receiver: Receiver, cause: Error): void {
    if (this.#receiver !== receiver) return
    if (this.#isWritten) this.#end(cause)
    else this.#giveBack(cause)
  }

  /** Closes the connection, and ends a request on it. */
  close(): void {
    this.#end(new Error('closed by the gateway'))
  }

  /** If a target closes an idle connection, this is not a failure of a request that it could not have seen. */
  #endByTarget(cause: Error): void {
    const [request, receiver] = [this.#request, this.#receiver]
    const isUnsent = this.#turn > 1 && this.#writer.isUnbegun && request?.body === null
    if (isUnsent) this.#forgetRequest()
    this.#end(cause)
    if (isUnsent && receiver !== null) this.#options.onUnsent(request, receiver)
  }

  #end(cause: Error): void {
    if (this.#isGone) return
    this.#isGone = true
    if (this.#responseTimer !== null) clearTimeout(this.#responseTimer)
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer)
    const receiver = this.#receiver
    this.#reader.abandon()
    this.#forgetRequest()
    this.#opening.destroy()
    this.#options.onGone(this)
    receiver?.onError(cause)
  }
}
