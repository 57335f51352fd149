import type { Acknowledged, Sharing } from '../store/acknowledged.ts'
import type { Order, Report } from './message.ts'

/** How long the primary may take to pass changes on, in milliseconds; an answer does not wait longer for it. */
const LIMIT = 250

/** The changes that a worker shares with the others through the primary. */
export class WorkerSharing implements Sharing {
  readonly #report: (said: Report) => Promise<void>
  /** Changes that are not yet passed on, by their numbers. */
  readonly #waiting = new Map<number, () => void>()
  #number = 0
  #receiver: ((changes: readonly Acknowledged[]) => void) | null = null
  /** Changes that arrived before a receiver was registered. */
  #early: Acknowledged[] = []

  constructor(report: (said: Report) => Promise<void>) {
    this.#report = report
  }

  share(changes: readonly Acknowledged[]): Promise<void> {
    const number = ++this.#number
    return new Promise(resolve => {
      const done = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(number)
        resolve()
      }
      const timer = setTimeout(done, LIMIT)
      this.#waiting.set(number, done)
      void this.#report({ share: changes, number })
    })
  }

  receive(receiver: (changes: readonly Acknowledged[]) => void): void {
    this.#receiver = receiver
    receiver(this.#early)
    this.#early = []
  }

  /** An order of the primary. */
  obey(order: Extract<Order, { changes: unknown } | { shared: unknown }>): void {
    if ('shared' in order) this.#waiting.get(order.shared)?.()
    else if (this.#receiver !== null) this.#receiver(order.changes)
    else this.#early.push(...order.changes)
  }
}
