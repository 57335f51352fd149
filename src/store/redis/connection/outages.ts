import type { Logger } from '../../../base/log/log.ts'
import { remedyOf, summaryOf } from './fault.ts'

/** Logs one line when Redis is lost and one when it is back; the client repeats the same error with every attempt. */
export class Outages {
  readonly #redis: string
  readonly #log: Logger
  /** What was logged of the present outage. */
  readonly #faults = new Set<string>()

  /** `redis` says where it is, without user and password. */
  constructor(redis: string, log: Logger) {
    this.#redis = redis
    this.#log = log
  }

  /** A fault of another kind is logged, too: where the first was mended, it says what is still to be done. */
  lost(error: Error): void {
    const fault = summaryOf(error)
    if (this.#faults.has(fault)) return
    this.#faults.add(fault)
    this.#log.error({ redis: this.#redis, fault, remedy: remedyOf(fault) }, 'Redis is lost')
  }

  back(): void {
    if (this.#faults.size > 0) this.#log.info({ redis: this.#redis }, 'Redis is back')
    this.#faults.clear()
  }
}
