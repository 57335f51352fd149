import type { Acknowledged, Sharing } from '../store/acknowledged-changes.ts'
import type { Report } from './orders.ts'

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
      void this.#report({ kind: 'share', changes, number })
    })
  }

  receive(receiver: (changes: readonly Acknowledged[]) => void): void {
    this.#receiver = receiver
    receiver(this.#early)
    this.#early = []
  }

  /** Changes that other workers acknowledged. */
  accept(changes: readonly Acknowledged[]): void {
    if (this.#receiver !== null) this.#receiver(changes)
    else this.#early.push(...changes)
  }

  /** The primary has passed on what this worker shared under the number. */
  confirm(number: number): void {
    this.#waiting.get(number)?.()
  }
}
