import { writeSync } from 'node:fs'

/** A pipe accepts this many bytes as a whole, whatever other processes write to it: the lines of several workers stay whole. */
const PIPE_BYTES = 4096
/** Bytes of lines that wait for a slow reader; further lines are dropped and counted. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024
/** Pauses before lines that were not accepted are written again, in milliseconds: doubled while the reader accepts none. */
const FIRST_PAUSE = 1
const LAST_PAUSE = 50
/** How long an ending process waits for a reader that accepts nothing, in milliseconds. */
const EXIT_LIMIT = 2000

/** Whole lines that are written together. */
interface Batch {
  text: string | Buffer
  bytes: number
}

/**
 * Writes lines to a descriptor in batches, at the end of each turn of the event loop. If the reader is too slow, the
 * lines wait, and the process goes on.
 */
export class Output {
  readonly #descriptor: number
  readonly #setNonBlocking: () => void
  /** Oldest first; a part of the first may be written. */
  readonly #waiting: Batch[] = []
  /** The lines behind them. */
  #lines = ''
  #lineBytes = 0
  /** Bytes of all lines that are not written yet. */
  #bytes = 0
  #isDue = false
  #pause = FIRST_PAUSE
  #dropped = 0
  /** Called with the number of dropped lines when the reader has caught up. */
  onDropped: (lines: number) => void = () => undefined

  /** `setNonBlocking` is called before each attempt to write; without it the descriptor stays as it is. */
  constructor(descriptor: number, setNonBlocking: () => void = () => undefined) {
    this.#descriptor = descriptor
    this.#setNonBlocking = setNonBlocking
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line)
    if (this.#bytes + bytes > MAX_WAITING_BYTES) {
      this.#dropped++
      return
    }
    if (this.#lineBytes + bytes > PIPE_BYTES) this.#endBatch()
    this.#lines += line
    this.#lineBytes += bytes
    this.#bytes += bytes
    if (this.#isDue) return
    this.#isDue = true
    setImmediate(this.#writeDue)
  }

  /** Writes what is left while the process ends, and waits for a slow reader, but not for one that accepts nothing. */
  end(limit = EXIT_LIMIT): void {
    const sleeper = new Int32Array(new SharedArrayBuffer(4))
    let until = performance.now() + limit
    while (performance.now() < until) {
      const before = this.#bytes
      if (this.#writeAll() !== 'EAGAIN') return
      if (this.#bytes < before) until = performance.now() + limit
      Atomics.wait(sleeper, 0, 0, FIRST_PAUSE)
    }
  }

  readonly #writeDue = (): void => {
    this.#isDue = false
    const before = this.#bytes
    const isDone = this.#writeAll() === null
    if (this.#bytes < before) this.#pause = FIRST_PAUSE
    if (isDone) this.#reportDropped()
    else this.#writeLater()
  }

  /** Further lines wait behind the others. An idle process does not stay alive for this: it writes when it ends. */
  #writeLater(): void {
    this.#isDue = true
    setTimeout(this.#writeDue, this.#pause).unref()
    this.#pause = Math.min(this.#pause * 2, LAST_PAUSE)
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return
    const lines = this.#dropped
    this.#dropped = 0
    this.onDropped(lines)
  }

  #endBatch(): void {
    if (this.#lineBytes > 0) this.#waiting.push({ text: this.#lines, bytes: this.#lineBytes })
    this.#lines = ''
    this.#lineBytes = 0
  }

  /** Returns why not every line was written; `null` if every line was. The cause may pass, also a full disk. */
  #writeAll(): string | null {
    this.#endBatch()
    this.#setNonBlocking()
    try {
      for (let batch = this.#waiting[0]; batch !== undefined; batch = this.#waiting[0]) this.#writeSome(batch)
    } catch (fault) {
      return (fault as NodeJS.ErrnoException).code!
    }
    return null
  }

  #writeSome(batch: Batch): void {
    const { text, bytes } = batch
    const written = typeof text === 'string' ? writeSync(this.#descriptor, text) : writeSync(this.#descriptor, text)
    this.#bytes -= written
    if (written === bytes) {
      this.#waiting.shift()
    } else {
      batch.text = Buffer.from(text as string).subarray(written)
      batch.bytes -= written
    }
  }
}
