/*
 * Time limits that count only the time in which this process ran. Node runs timers before it reads sockets: after a stall every
 * limit would be over, although the answers have arrived, or although the questions could not be sent before.
 */

/** A timer that runs later than this, in milliseconds, was held up by a stall of this process. */
const STALL = 20
/** Parts of a limit, after each of which the stalls are looked for. */
const PARTS = 4

/**
 * Calls `over` once, `limit` milliseconds after the last `restart`; the time of stalls is added. What has arrived is read
 * before.
 */
export class Deadline {
  readonly #limit: number
  readonly #over: () => void
  #timer: NodeJS.Timeout | undefined
  #afterReads: NodeJS.Immediate | undefined
  #due = 0
  /** When the timer has to run. */
  #next = 0

  constructor(limit: number, over: () => void) {
    this.#limit = limit
    this.#over = over
    this.restart()
  }

  restart(): void {
    clearImmediate(this.#afterReads)
    const now = performance.now()
    this.#due = now + this.#limit
    const part = this.#limit / PARTS
    if (this.#timer === undefined) {
      this.#wait(now, part)
      return
    }
    this.#next = now + part
    this.#timer.refresh()
  }

  clear(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#afterReads)
    this.#timer = undefined
  }

  #wait(now: number, time: number): void {
    this.#next = now + time
    this.#timer = setTimeout(this.#onTimer, time)
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined
    const now = performance.now()
    const stall = now - this.#next
    if (stall > STALL) this.#due += stall
    const left = this.#due - now
    if (left > 0) this.#wait(now, Math.min(left, this.#limit / PARTS))
    else this.#afterReads = setImmediate(this.#over)
  }
}

/**
 * The result of `work`; after `limit` milliseconds without one, that of `late`, unless `work` is still faster. The timer ends
 * with the wait: one that went on would keep the process from ending.
 */
export async function within<T>(limit: number, work: Promise<T>, late: () => T | Promise<T>): Promise<T> {
  let deadline: Deadline | undefined
  const over = new Promise<T>(resolve => {
    deadline = new Deadline(limit, () => resolve(new Promise(then => then(late()))))
  })
  try {
    return await Promise.race([work, over])
  } finally {
    deadline?.clear()
  }
}
