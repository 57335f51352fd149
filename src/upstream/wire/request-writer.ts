import type { Socket } from 'node:net'
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

  constructor(events: WriterEvents) {
    this.#events = events
  }

  attach(socket: Socket): void {
    this.#socket = socket.on('drain', () => void this.#body?.resume())
  }

  /** Whether the whole request is written. */
  get isSent(): boolean {
    return this.#isSent
  }

  /** Whether nothing of the request is written yet. */
  get isUnbegun(): boolean {
    return this.#head !== ''
  }

  /** Whether the target delays the rest of the request. */
  get isBlocked(): boolean {
    return this.#socket!.writableNeedDrain
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
    if (body === null) {
      writeAtEndOfTurn(this)
    } else {
      this.#body = body
      body.start(this)
    }
    this.#events.onProgress()
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
    if (!socket.writableNeedDrain) return
    this.#body!.pause()
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
