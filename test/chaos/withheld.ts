/** How often this process looks at the clock, in milliseconds. */
const TICK = 20
/** A look that is not later than this is on time, in milliseconds. */
const ON_TIME = 5

/** Adds up the time that a busy machine withholds from this process: by how much each look at the clock comes too late. */
export class Withheld {
  #sum = 0
  #last = performance.now()
  readonly #timer = setInterval(() => this.#look(), TICK).unref()

  /** In milliseconds, since the beginning. */
  get total(): number {
    return this.#sum + Math.max(0, performance.now() - this.#last - TICK)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const now = performance.now()
    const late = now - this.#last - TICK
    this.#last = now
    if (late > ON_TIME) this.#sum += late
  }
}
