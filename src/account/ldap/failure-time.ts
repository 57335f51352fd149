import { setTimeout as pause } from 'node:timers/promises'

/** Failures whose times count. */
const REMEMBERED = 64
/** Of the remembered failures so many took no longer than what counts: one slow moment of a server slows later ones only little. */
const SHARE = 0.95
/** How much longer every failure takes, so that hardly any known name takes more than that. */
const MARGIN = 1.5

/**
 * A bind with a name that the directory does not have is answered sooner: no hash is computed, and no failure is written into
 * an entry. So a failed login takes as long as those of known names took before, and a part more. Only known names count, so
 * that a flood of unknown ones does not bring that down.
 */
export class FailureTime {
  /** The latest times of known names, in milliseconds. */
  readonly #times: number[] = []

  /** Waits as long as the others took; `spent` milliseconds have passed already, and no more than `limit` may. */
  async pass(spent: number, isKnown: boolean, limit: number): Promise<void> {
    const rest = Math.min(this.#usual(), limit) - spent
    if (isKnown) this.#remember(spent)
    if (rest > 0) await pause(rest)
  }

  #usual(): number {
    const sorted = this.#times.toSorted((a, b) => a - b)
    return (sorted[Math.ceil(sorted.length * SHARE) - 1] ?? 0) * MARGIN
  }

  #remember(time: number): void {
    this.#times.push(time)
    if (this.#times.length > REMEMBERED) this.#times.shift()
  }
}
