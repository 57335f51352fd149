import type { Socket } from 'node:net'
import { keepReading } from '../../workarounds/node-failed-writes.ts'
import { isClosedForWriting } from './connection-faults.ts'
import { type PendingWrite, writeAtEndOfTurn } from './end-of-turn.ts'
import { freeWhenWritten } from './free-when-written.ts'
import type { BodyTaker, RequestBody, UpstreamRequest } from './receiver.ts'
import { framingOf, writeHead } from './write-request-head.ts'

export interface WriterEvents {
  /** Called on progress: more of a request is written, all of it, or the target accepts no more for now. */
  onProgress(): void
  /** The client's body failed. */
  onFault(error: Error): void
}

/** Writes the requests of one connection, one at a time, with back-pressure on their bodies. */
export class RequestWriter implements PendingWrite, BodyTaker {
  readonly #events: WriterEvents
  #socket: Socket | null = null
  #body: RequestBody | null = null
  #isChunked = false
  /** A head that is not yet written: it is sent at the end of the turn, or with the first part of the body. */
  #head = ''
  #isSent = true
  /** Whether failed writes of the socket are held back where it may have an answer. */
  #keepsReading = false
  /** Whether a part of the present body is written before: the target may have answered. */
  #hasBegunBody = false
  #fault: Error | null = null

  constructor(events: WriterEvents) {
    this.#events = events
  }

  attach(socket: Socket): void {
    this.#socket = socket.on('drain', () => void this.#body?.resume())
  }

  /** Whether the whole request is written. */
  get isSent(): boolean {
    return this.#isSent && this.#fault === null
  }

  /** The target closed the connection before it had read the body, and what it sent before is still to be read; otherwise `null`. */
  get fault(): Error | null {
    return this.#fault
  }

  /** Whether nothing of the request is written yet. */
  get isUnbegun(): boolean {
    return this.#head !== ''
  }

  /** Whether the target delays the rest of the request. */
  get isBlocked(): boolean {
    return this.#socket!.writableNeedDrain || this.#fault !== null
  }

  /** Throws `UnwritableRequest`, and has written nothing then. */
  headOf(request: UpstreamRequest): string {
    const framing = framingOf(request)
    this.#isChunked = framing === 'chunks'
    return writeHead(request, framing, request.method !== 'HEAD')
  }

  write(head: string, body: RequestBody | null): void {
    this.#head = head
    this.#isSent = body === null
    this.#hasBegunBody = false
    if (body === null) {
      writeAtEndOfTurn(this)
    } else {
      this.#body = body
      if (!this.#keepsReading) keepReading(this.#socket!, this.#holdsBack)
      this.#keepsReading = true
      body.start(this)
    }
    this.#events.onProgress()
  }

  /** A target may answer, and close the connection, before it has read the body, as to refuse it. */
  readonly #holdsBack = (error: Error): boolean => {
    if (!this.#hasBegunBody || !isClosedForWriting(error)) return false
    this.#fault = error
    this.#body?.stop()
    this.#body = null
    this.#events.onProgress()
    return true
  }

  /** Writes a request without a body, unless it has ended meanwhile. */
  writeNow(): void {
    const head = this.#head
    this.#head = ''
    if (head !== '') this.#socket!.write(head, 'latin1')
  }

  onBodyData(chunk: Buffer): void {
    const socket = this.#socket!
    socket.cork()
    if (this.#head !== '') socket.write(this.#head, 'latin1')
    this.#head = ''
    if (this.#isChunked) socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1')
    socket.write(chunk, freeWhenWritten(chunk))
    if (this.#isChunked) socket.write('\r\n', 'latin1')
    socket.uncork()
    this.#hasBegunBody = true
    if (!socket.writableNeedDrain) return
    this.#body?.pause()
    this.#events.onProgress()
  }

  onBodyEnd(): void {
    const last = this.#head + (this.#isChunked ? '0\r\n\r\n' : '')
    this.#head = ''
    this.#body = null
    this.#isSent = true
    if (last !== '') this.#socket!.write(last, 'latin1')
    this.#events.onProgress()
  }

  onBodyError(error: Error): void {
    this.#events.onFault(error)
  }

  /** The rest of the body is not needed. */
  drop(): void {
    this.#body?.stop()
    this.#body = null
    this.#head = ''
  }
}
