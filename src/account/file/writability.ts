import { type Clock, systemClock } from '../../base/clock.ts'
import { faultOfReplacing, tryReplacing } from '../../base/durable-file.ts'
import type { Logger } from '../../base/log/log.ts'
import { Outage } from '../../base/refusal.ts'
import { unwritable } from '../../settings/unwritable.ts'

/** How often the file is tried again while it cannot be written, in milliseconds. */
export const AGAIN = 5000

/** The faults of a write that say something about the place of the file, and nothing about the change. */
const OF_PLACE = new Set(['EROFS', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'ENOTDIR', 'ENAMETOOLONG'])

/**
 * Whether the accounts file can be written. The first question tries it; later ones look at its folder. When a write has failed, it
 * is tried again after `AGAIN`. Each change is logged once.
 */
export class Writability {
  readonly #path: string
  readonly #log: Pick<Logger, 'error' | 'info'>
  readonly #clock: Clock
  /** Why it cannot be written; `null` if it can. */
  #code: string | null = null
  #triedAt = Number.NEGATIVE_INFINITY

  constructor(path: string, log: Pick<Logger, 'error' | 'info'>, clock: Clock = systemClock) {
    this.#path = path
    this.#log = log
    this.#clock = clock
  }

  /** Why it cannot be written, as far as it is known; its text names no path. */
  fault(): Outage | null {
    const isTried = Number.isFinite(this.#triedAt)
    if (!isTried || (this.#code !== null && this.#clock.elapsed() - this.#triedAt >= AGAIN)) {
      this.#note(tryReplacing(this.#path))
    } else if (this.#code === null) {
      this.#note(faultOfReplacing(this.#path))
    }
    return this.#code === null ? null : new Outage(`the accounts file ${unwritable(this.#code)}`)
  }

  /** A write has failed. `null` if its fault says nothing about the place. */
  failed(fault: unknown): Outage | null {
    const { code } = fault as NodeJS.ErrnoException
    if (code === undefined || !OF_PLACE.has(code)) return null
    this.#note(code)
    return new Outage(`the accounts file ${unwritable(code)}`, { cause: fault })
  }

  #note(code: string | null): void {
    this.#triedAt = this.#clock.elapsed()
    if (code === this.#code) return
    if (code === null) this.#log.info({ path: this.#path }, 'the accounts file can be written again')
    else this.#log.error({ path: this.#path, code }, `the accounts file ${unwritable(code)}`)
    this.#code = code
  }
}
