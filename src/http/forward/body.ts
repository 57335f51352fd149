import type { IncomingMessage } from 'node:http'
import { KeptChunks } from '../../base/kept-chunks.ts'
import { Refusal } from '../../base/refusal.ts'
import { ClientLeft } from '../../upstream/target-attempts.ts'
import type { BodyTaker, RequestBody } from '../../upstream/wire/receiver.ts'
import type { ComingBody, SlowBodies } from './slow-bodies.ts'

/** How much of a body is read before its request is forwarded, in bytes: most bodies are complete then. */
const READ_FIRST = 65_536

/** The limit of this for all bodies of a process, in bytes; beyond it bodies are forwarded as they arrive. */
export const READ_FIRST_TOTAL = 64 * 1024 * 1024

/** Refuses a body whose Content-Length exceeds `limit` bytes. */
export function refuseTooLarge(request: IncomingMessage, limit: number): void {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw new Refusal('BODY_TOO_LARGE')
}

/** Bytes of bodies that wait to be forwarded, or to be accepted, of all requests together. */
export class BodyMemory {
  readonly #limit: number
  #used = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get isFull(): boolean {
    return this.#used >= this.#limit
  }

  add(bytes: number): void {
    this.#used += bytes
  }
}

/** What all bodies of a process share. */
export interface SharedByBodies {
  readonly memory: BodyMemory
  readonly slow: SlowBodies
}

/** Receives the result of the first reading of a body. */
export interface FirstReading {
  /** Whether the upstream has enough connections for a slow body. */
  isAdmitted(): boolean
  /** A small body is complete, enough of a large one has arrived, or a slow one may be forwarded. */
  onReady(): void
  onFailed(error: Error): void
}

/**
 * A client's body. It fails if it has more than `limit` bytes. A small body is read completely before it is forwarded,
 * so that a slow client holds memory for its own bytes, but no connection to an upstream. Large bodies are streamed,
 * and slow ones too while enough connections are free. If an upstream answers before it has read everything, the rest
 * is read and discarded, for a limited time.
 */
export class ClientBody implements RequestBody, ComingBody {
  readonly #request: IncomingMessage
  readonly #memory: BodyMemory
  readonly #slow: SlowBodies
  #reading: FirstReading | null = null
  #taker: BodyTaker | null = null
  /** Bytes that may still come. */
  #left: number
  /** The first part, until it is forwarded. */
  readonly #first = new KeptChunks()
  #isWhole = false

  constructor(request: IncomingMessage, limit: number, { memory, slow }: SharedByBodies) {
    this.#request = request
    this.#memory = memory
    this.#slow = slow
    this.#left = limit
  }

  /** Reads a body that arrived with its head, as most do; returns whether it did. Throws if it is too large. */
  readWhole(): boolean {
    const request = this.#request
    if (!request.complete) return false
    this.#isWhole = true
    // From Node 26 on, a read returns one of the chunks that have arrived, not all of them.
    do {
      const chunk: Buffer | null = request.read()
      if (chunk !== null && !this.#keep(chunk)) {
        this.discard()
        throw new Refusal('BODY_TOO_LARGE')
      }
    } while (request.readableLength > 0)
    return true
  }

  /** Reads the beginning of a body that is still arriving. */
  readFirst(reading: FirstReading): void {
    const request = this.#request
    this.#reading = reading
    this.#slow.add(this)
    request
      .on('data', this.#onFirstData)
      .on('end', this.#onFirstEnd)
      .on('close', this.#onClose)
      .on('error', this.#onError)
    if (request.destroyed) this.#onClose()
  }

  /** Returns whether the body is within its limit. */
  #keep(chunk: Buffer): boolean {
    this.#left -= chunk.length
    if (this.#left < 0) return false
    this.#first.add(chunk)
    this.#memory.add(chunk.length)
    return true
  }

  #onFirstData = (chunk: Buffer): void => {
    if (!this.#keep(chunk)) this.#onError(new Refusal('BODY_TOO_LARGE'))
    else if (this.#first.bytes >= READ_FIRST || this.#memory.isFull) this.forward()
  }

  #onFirstEnd = (): void => {
    this.#isWhole = true
    this.forward()
  }

  /** One of which nothing has arrived would only keep a connection, on which nothing is written before. */
  get isAdmitted(): boolean {
    return this.#first.bytes > 0 && this.#reading?.isAdmitted() === true
  }

  forward(): void {
    const reading = this.#reading
    this.#slow.delete(this)
    this.#detach()
    if (!this.#isWhole) this.#request.pause()
    this.#reading = null
    reading?.onReady()
  }

  start(taker: BodyTaker): void {
    this.#taker = taker
    for (const chunk of this.#takeFirst()) this.#taker?.onBodyData(chunk)
    if (this.#isWhole) {
      this.#taker?.onBodyEnd()
      return
    }
    this.#request.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onClose).on('error', this.#onError)
    if (this.#request.destroyed) this.#onClose()
    else if (!this.#isHeld) this.#request.resume()
  }

  #isHeld = false

  pause(): void {
    this.#isHeld = true
    this.#request.pause()
  }

  resume(): void {
    this.#isHeld = false
    this.#request.resume()
  }

  stop(): void {
    this.#taker = null
  }

  discard(): void {
    const request = this.#request
    this.#taker = null
    if (this.#reading !== null) this.#slow.delete(this)
    this.#reading = null
    this.#takeFirst()
    this.#detach()
    // The rest is only discarded before the next request; a client that sends too long is disconnected (connection/slow-clients.ts).
    if (!request.readableEnded && !request.destroyed) request.resume()
  }

  #takeFirst(): Buffer[] {
    this.#memory.add(-this.#first.bytes)
    return this.#first.take()
  }

  #detach(): void {
    const request = this.#request
    request.off('data', this.#onFirstData).off('end', this.#onFirstEnd)
    request.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose).off('error', this.#onError)
  }

  #onData = (chunk: Buffer): void => {
    this.#left -= chunk.length
    if (this.#left < 0) this.#onError(new Refusal('BODY_TOO_LARGE'))
    else this.#taker?.onBodyData(chunk)
  }

  #onEnd = (): void => this.#taker?.onBodyEnd()

  #onClose = (): void => {
    if (!this.#request.complete) this.#onError(new ClientLeft())
  }

  #onError = (error: Error): void => {
    const reading = this.#reading
    if (reading === null) {
      this.#taker?.onBodyError(error)
    } else {
      this.discard()
      reading.onFailed(error)
    }
  }
}
