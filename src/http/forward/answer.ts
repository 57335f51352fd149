import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { ResponseHead } from '../../upstream/headers/response-headers.ts'
import { type PendingWrite, writeAtEndOfTurn } from '../../upstream/wire/end-of-turn.ts'
import { freeWhenWritten } from '../../upstream/wire/free-when-written.ts'
import { Backlog, type Source } from './backlog.ts'
import type { BodyMemory } from './body.ts'

/** How many early hints of one request are passed on. */
const MAX_HINTS = 10

/** Bodies up to this many bytes are written together with their head. */
const SMALL_BODY = 16_384

/** The answer of an upstream as it is written to one client: with few system calls, and as fast as the client reads. */
export class Answer implements PendingWrite {
  readonly #response: ServerResponse
  readonly #memory: BodyMemory
  /**
   * Data that the client does not accept for now. The listener closes a client that remains slow (connection/slow-clients.ts).
   */
  #backlog: Backlog | null = null
  /** How many early hints may still be passed on. */
  #hintsLeft = MAX_HINTS
  #hasBegun = false
  #hasLength = false
  #delimitedByClose = false
  /** The beginning of a body, possibly all of it: held until its packet has been read. */
  #first: Buffer | null = null
  /** The whole of a short body. */
  #whole: Buffer | null = null

  constructor(response: ServerResponse, memory: BodyMemory) {
    this.#response = response
    this.#memory = memory
  }

  /** Whether the head is written: from then on a failure can only break the answer off. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Whether the upstream is paused because the client does not read. */
  get isHeld(): boolean {
    return this.#backlog?.isHeld === true
  }

  /** Whether the client has accepted everything that was written. */
  get isAccepted(): boolean {
    return this.#backlog === null || this.#backlog.isEmpty
  }

  /** Writes early hints; `null` for none. A client that does not read gets none: hints are not worth memory. */
  hint(text: string | null): void {
    if (text === null || this.#hintsLeft === 0) return
    this.#hintsLeft--
    const { socket } = this.#response
    if (socket !== null && !socket.writableNeedDrain && !socket.destroyed) socket.write(text, 'latin1')
  }

  writeHead(status: number, { headers, hasLength }: ResponseHead, httpVersionMinor: number): void {
    this.#hasLength = hasLength
    this.#delimitedByClose = httpVersionMinor === 0 && !hasLength
    // Also where Node refuses the head: the response may have forgotten by then that it has a body.
    this.#hasBegun = true
    this.#response.writeHead(status, headers)
  }

  /** Holds the beginning of a body back, when it is short; returns whether it does. */
  hold(chunk: Buffer): boolean {
    if (this.#first !== null || chunk.length > SMALL_BODY) return false
    this.#first = chunk
    return true
  }

  /** Writes what is there so far: the rest of the body comes later. */
  flush(source: Source): void {
    // Not flushHeaders(), which writes the head as UTF-8: bytes of the upstream beyond ASCII would arrive as two each.
    if (this.#first === null) this.#response.write('', 'latin1')
    else this.#writeFirst(source)
  }

  /** Writes a part of the body behind what was held back. `source` pauses when the client does not read. */
  write(chunk: Buffer, source: Source): void {
    if (this.#first !== null) this.#writeFirst(source)
    this.#write(chunk, source)
  }

  #writeFirst(source: Source): void {
    const first = this.#first!
    this.#first = null
    this.#write(first, source)
  }

  #write(chunk: Buffer, source: Source): void {
    if (this.#backlog?.isEmpty === false) {
      this.#backlog.push(chunk)
      return
    }
    if (this.#response.write(chunk, freeWhenWritten(chunk))) return
    this.#backlog ??= new Backlog(this.#response, source, this.#memory)
    this.#backlog.add(chunk.length)
  }

  end(): void {
    const first = this.#first
    if (first === null) this.#response.end()
    else if (this.#hasLength) this.#endWhole(first)
    else this.#response.end(first)
  }

  #endWhole(body: Buffer): void {
    this.#whole = body
    writeAtEndOfTurn(this)
  }

  /**
   * Writes head and body as one string, in one system call. By default `end` would write a vector of both and an empty
   * end, which costs twice as much.
   */
  writeNow(): void {
    const { socket, destroyed } = this.#response
    if (destroyed) return
    socket?.cork()
    this.#response.write(this.#whole!.toString('latin1'), 'latin1')
    socket?.uncork()
    this.#response.end()
  }

  /** Ends the answer behind what the client has not accepted; the client reads the rest without the upstream. */
  leave(): void {
    this.#backlog?.leave()
    if (this.#first === null) this.#response.end()
    else this.#response.end(this.#first)
  }

  /** Ends the answer in such a way that the client does not take it for whole. */
  breakOff(): void {
    const { socket } = this.#response
    // If the end of the connection ends the body, only a reset shows that something is missing.
    if (this.#delimitedByClose && socket !== null && canBeReset(socket)) socket.resetAndDestroy()
    else this.#response.destroy()
  }

  /** Stops waiting for the client. */
  settle(): void {
    this.#backlog?.close()
  }
}

/** Node does not close a socket that is reset while it ends. */
const canBeReset = (socket: Socket): boolean => !(socket instanceof TLSSocket) && !socket.writableEnded
