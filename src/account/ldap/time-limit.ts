import { within } from '../../base/deadline.ts'

/** A server did not answer in time. */
export class NoAnswer extends Error {
  override readonly name = 'Error'
}

/** The time limit of several steps together; in milliseconds. */
export class TimeLimit {
  readonly #limit: number
  readonly #began = performance.now()

  constructor(limit: number) {
    this.#limit = limit
  }

  get left(): number {
    return this.#limit - (performance.now() - this.#began)
  }

  /** One step. Its signal aborts when its time is over; then it fails with `NoAnswer`. */
  async step<T>(part: 'all that is left' | 'half of it', work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = part === 'half of it' ? this.left / 2 : this.left
    const late = () => new NoAnswer(`no answer within ${Math.max(0, Math.round(limit))} ms`)
    if (limit <= 0) throw late()
    const end = new AbortController()
    try {
      return await within(limit, work(end.signal), () => {
        throw late()
      })
    } finally {
      end.abort()
    }
  }
}
