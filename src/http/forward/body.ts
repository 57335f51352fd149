import type { IncomingMessage } from 'node:http'
import { Refusal } from '../../refusal.ts'
import type { BodyTaker, RequestBody } from '../../upstream/receiver.ts'

/** How long the rest of a body that nobody wants is read and thrown away, in milliseconds. */
const LINGER = 5_000

/** Whether a request has a body; RFC 9112 6.3: one of the two announces it. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0')

/** A caller that is gone, with its answer or its body unfinished. */
export class CallerLeft extends Error {
  constructor() {
    super('the caller left')
    this.name = 'CallerLeft'
  }
}

/** Refuses a body that says of itself that it has more than `limit` bytes. */
export function refuseTooLarge(request: IncomingMessage, limit: number): void {
  if (Number(request.headers['content-length'] ?? 0) <= limit) return
  discardRest(request)
  throw new Refusal('BODY_TOO_LARGE')
}

/**
 * A caller's body, which fails when it has more than `limit` bytes. When an upstream answers before it has read
 * everything, the rest is read and thrown away, for a while: the caller's connection must not stay unread for good.
 */
export class CallerBody implements RequestBody {
  readonly #request: IncomingMessage
  #taker: BodyTaker | null = null
  /** Bytes that may still come. */
  #left: number

  constructor(request: IncomingMessage, limit: number) {
    this.#request = request
    this.#left = limit
  }

  start(taker: BodyTaker): void {
    this.#taker = taker
    this.#request.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onClose)
  }

  pause(): void {
    this.#request.pause()
  }

  resume(): void {
    this.#request.resume()
  }

  stop(): void {
    this.#taker = null
  }

  discard(): void {
    const request = this.#request
    this.#taker = null
    request.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose)
    if (request.readableEnded || request.destroyed) return
    // What has all arrived only has to be taken out of the way of the next request.
    if (request.complete) request.resume()
    else discardRest(request)
  }

  #onData = (chunk: Buffer): void => {
    this.#left -= chunk.length
    if (this.#left < 0) this.#taker?.onBodyError(new Refusal('BODY_TOO_LARGE'))
    else this.#taker?.onBodyData(chunk)
  }

  #onEnd = (): void => this.#taker?.onBodyEnd()

  #onClose = (): void => {
    if (!this.#request.complete) this.#taker?.onBodyError(new CallerLeft())
  }
}

function discardRest(request: IncomingMessage): void {
  const timer = setTimeout(() => request.destroy(), LINGER).unref()
  request.once('close', () => clearTimeout(timer))
  request.resume()
}
