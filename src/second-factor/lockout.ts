import { type Clock, secondsUntil } from '../clock.ts'
import type { LoginType } from '../session.ts'
import { disabledFor } from '../side/disable.ts'
import type { AttemptStore } from '../store/store.ts'

export interface FactorLockout {
  /**
   * Counts an attempt before its code is checked, so that attempts at the same time cannot outrun the count. Refuses with
   * `DISABLED` without a check while the step is locked.
   */
  admit(accountId: string): Promise<void>
  /** The code was right: its attempts are forgotten. */
  passed(accountId: string): Promise<void>
}

export interface FactorLockoutOptions {
  type: LoginType
  attempts: Pick<AttemptStore, 'count' | 'clear'>
  /** How long wrong codes lock the step, in milliseconds. */
  disable: number
  clock: Clock
}

/** Attempts that are checked before the step locks. */
const FREE = 5
/**
 * For how long attempts without a right code are counted, in milliseconds. When a lock ends, each further attempt locks
 * again. Who has the password so tries 290 codes a day and not 1440; three of a million are right at any time.
 */
const COUNTED = 86_400_000

/**
 * The lockout of wrong codes, apart from that of passwords, by login id. It is asked only after the right password, so it
 * tells no one else that a second factor exists.
 */
export function createFactorLockout({ type, attempts, disable, clock }: FactorLockoutOptions): FactorLockout {
  const countedOf = (id: string): string => `second-factor:${type}:${id}:attempts`
  const lockOf = (id: string): string => `second-factor:${type}:${id}:locked`
  return {
    async admit(accountId) {
      const { count } = await attempts.count(countedOf(accountId), COUNTED)
      if (count < FREE) return
      // The attempt that begins the lock is the last that is checked in it.
      const lock = await attempts.count(lockOf(accountId), disable)
      if (lock.count > 1) throw disabledFor(Math.max(1, secondsUntil(lock.resetsAt, clock.now())))
    },
    async passed(accountId) {
      await attempts.clear(lockOf(accountId))
      await attempts.clear(countedOf(accountId))
    },
  }
}
