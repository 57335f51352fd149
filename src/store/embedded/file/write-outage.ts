import { type Clock, systemClock } from '../../../base/clock.ts'
import type { Logger } from '../../../base/log/log.ts'

/** How long no write may have failed before an outage is over, in milliseconds: on a full disk small changes still succeed. */
export const CALM = 10_000

export interface WriteOutageOptions {
  clock?: Clock
  log?: Pick<Logger, 'error' | 'info'>
  /** What is refused while the file takes no change, for the warning. */
  refused?: string
}

/** ENOSPC, EFBIG and EDQUOT, as numbers: LMDB has no other names for them. */
const FULL = new Set([28, 27, 122])

/** Changes that the file did not take. Each outage is logged once, and its end once. */
export class WriteOutage {
  readonly #clock: Clock
  readonly #log: WriteOutageOptions['log']
  readonly #refused: string
  #failures = 0
  #warning: string | null = null
  #lastAt = 0

  constructor({ clock = systemClock, log, refused = 'logins' }: WriteOutageOptions = {}) {
    this.#clock = clock
    this.#log = log
    this.#refused = refused
  }

  /** How many changes have failed. */
  get failures(): number {
    return this.#failures
  }

  /** What is wrong and what to do about it; `null` if writes succeed. */
  get warning(): string | null {
    return this.#warning
  }

  /** A change has failed. */
  failed(file: string, fault: { code?: unknown; message?: string }): void {
    this.#failures++
    this.#lastAt = this.#clock.elapsed()
    if (this.#warning !== null) return
    const remedy = FULL.has(Number(fault.code))
      ? 'the disk is full: free space'
      : 'check the disk: it is full or faulty'
    this.#warning = `the embedded store cannot write ${file}, so ${this.#refused} are refused; ${remedy}`
    this.#log?.error({ fault: fault.message, code: fault.code }, this.#warning)
  }

  /** A change was committed. */
  succeeded(file: string): void {
    if (this.#warning === null || this.#clock.elapsed() - this.#lastAt < CALM) return
    this.#warning = null
    this.#log?.info({ failures: this.#failures }, `the embedded store writes ${file} again`)
  }
}
