import type { ServerResponse } from 'node:http'
import { KeptChunks } from '../../base/kept-chunks.ts'
import { freeWhenWritten } from '../../upstream/wire/free-when-written.ts'
import type { BodyMemory } from './body.ts'

/**
 * How far an answer is read ahead of its client, in bytes. Most answers are complete then, so that a slow client
 * occupies its own connection and none of an upstream. A large download never holds more.
 */
const READ_AHEAD = 1024 * 1024

/** The limit for all answers of a process, in bytes. Beyond it, a client that does not read delays its upstream. */
export const READ_AHEAD_TOTAL = 128 * 1024 * 1024

/** Bytes that are written together where the client does not accept what was written before. */
const TOGETHER = 16_384

/** Where an answer comes from. */
export interface Source {
  /** The client does not read: nothing more is to come for now. */
  hold(): void
  resume(): void
}

/** The part of an answer that its client has not accepted yet; empty for a client that accepts everything at once. */
export class Backlog {
  readonly #response: ServerResponse
  readonly #source: Source
  readonly #memory: BodyMemory
  /** Bytes written since the client had last accepted everything. */
  #bytes = 0
  #isHeld = false
  /** What is not written yet: each piece that is written by itself costs some hundred bytes more until the client accepts it. */
  readonly #kept = new KeptChunks()

  constructor(response: ServerResponse, source: Source, memory: BodyMemory) {
    this.#response = response
    this.#source = source
    this.#memory = memory
  }

  get isEmpty(): boolean {
    return this.#bytes === 0
  }

  /** Whether the upstream waits for the client. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  /** Adds bytes that the client did not accept at once. */
  add(bytes: number): void {
    if (this.#bytes === 0) this.#response.once('drain', this.#onDrain)
    this.#bytes += bytes
    this.#memory.add(bytes)
    if (this.#isHeld || (this.#bytes < READ_AHEAD && !this.#memory.isFull)) return
    this.#isHeld = true
    this.#source.hold()
  }

  /** Adds a piece behind others that the client has not accepted. */
  push(chunk: Buffer): void {
    this.#kept.add(chunk)
    if (this.#kept.bytes >= TOGETHER) this.#writeKept()
    this.add(chunk.length)
  }

  /** Returns whether the client accepts more. A destroyed response must not be written to. */
  #writeKept(): boolean {
    let isAccepted = true
    if (this.#response.destroyed) return isAccepted
    for (const chunk of this.#kept.take()) isAccepted = this.#response.write(chunk, freeWhenWritten(chunk))
    return isAccepted
  }

  readonly #onDrain = (): void => {
    this.#forgetBytes()
    const { bytes } = this.#kept
    if (!this.#writeKept()) this.add(bytes)
    if (!this.#isHeld || !this.isEmpty) return
    this.#isHeld = false
    this.#source.resume()
  }

  /** The upstream has sent everything. */
  leave(): void {
    this.#isHeld = false
    this.#writeKept()
  }

  #forgetBytes(): void {
    this.#memory.add(-this.#bytes)
    this.#bytes = 0
  }

  /** The client has accepted it, or has left. */
  close(): void {
    this.#response.off('drain', this.#onDrain)
    this.#kept.take()
    this.#forgetBytes()
  }
}
