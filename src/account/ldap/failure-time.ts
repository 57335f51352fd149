import { setTimeout } from 'node:timers/promises'

/** Failures whose times count. */
const REMEMBERED = 64
/** Of the remembered failures so many took no longer than what counts: one slow moment of a server slows later ones only little. */
const SHARE = 0.95
/** How much longer every failure takes, so that hardly any known name takes more than that. */
const MARGIN = 1.5

/**
 * A bind with a name that the directory does not have is answered sooner: no hash is computed, and no failure is written into
 * an entry. So a failed login takes as long as those of known names took before, and a part more. Only binds of known names
 * count, so that a flood of others does not bring that down.
 */
export class FailureTime {
  /** The latest times of known names, in milliseconds. */
  readonly #times: number[] = []
  readonly #pause: (time: number) => Promise<unknown>

  constructor(pause: (time: number) => Promise<unknown> = time => setTimeout(time)) {
    this.#pause = pause
  }

  /** Waits as long as the others took; `spent` milliseconds have passed already, and no more than `limit` may. */
  async pass(spent: number, counts: boolean, limit: number): Promise<void> {
    const rest = Math.min(this.#usual(), limit) - spent
    if (counts) this.#remember(spent)
    if (rest > 0) await this.#pause(rest)
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
