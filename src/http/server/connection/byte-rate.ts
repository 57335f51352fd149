/** Measures the rate of one direction by sampling a growing byte counter. */
export class ByteRate {
  #first = 0
  #last = 0
  /** Milliseconds in which bytes were waited for, and the last of them in which none came. */
  #waited = 0
  #silent = 0

  restart(bytes: number): void {
    this.#first = bytes
    this.#last = bytes
    this.#waited = 0
    this.#silent = 0
  }

  /** The other side was waited for all the time since the last look. */
  advance(bytes: number, elapsed: number): void {
    this.#waited += elapsed
    this.#silent = bytes === this.#last ? this.#silent + elapsed : 0
    this.#last = bytes
  }

  /** Whether nothing came for `limit` milliseconds, or fewer than `rate` bytes per second once these are over. */
  isSlow(limit: number, rate: number): boolean {
    if (this.#silent >= limit) return true
    return this.#waited > limit && (this.#last - this.#first) * 1000 < rate * this.#waited
  }
}
