import type { Account } from '../account/accounts.ts'
import { type Clock, secondsUntil } from '../clock.ts'
import type { LoginType } from '../session.ts'
import { disabledFor } from '../side/disable.ts'
import type { AttemptStore } from '../store/store.ts'
import { nameOf } from './sealed.ts'

export interface FactorLockout {
  /**
   * Counts an attempt before its code is checked, so that attempts at the same time cannot outrun the count. Refuses with
   * `DISABLED` without a check while the step is locked.
   */
  admit(account: Account): Promise<void>
  /** The code was right: its attempts are forgotten. */
  passed(account: Account): Promise<void>
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
 * again. So a client with the password can try 290 codes a day instead of 1440; three of a million are right at any time.
 */
const COUNTED = 86_400_000

/**
 * The lockout of wrong codes, apart from that of passwords, by login id. It is checked only after the right password: without it, no
 * client learns that a second factor exists. It ends with the factor of the account: after an administrator has reset the
 * factor, its wrong codes do not keep the user from setting up another one. Otherwise only a right code removes or replaces a
 * factor, so this allows no further guesses.
 */
export function createFactorLockout({ type, attempts, disable, clock }: FactorLockoutOptions): FactorLockout {
  const nameFor = ({ id, secondFactor }: Account): string => `second-factor:${type}:${id}:${nameOf(secondFactor)}`
  const countedOf = (account: Account): string => `${nameFor(account)}:attempts`
  const lockOf = (account: Account): string => `${nameFor(account)}:locked`
  return {
    async admit(account) {
      const { count } = await attempts.count(countedOf(account), COUNTED)
      if (count < FREE) return
      // The attempt that begins the lock is the last that is checked in it.
      const lock = await attempts.count(lockOf(account), disable)
      if (lock.count > 1) throw disabledFor(Math.max(1, secondsUntil(lock.resetsAt, clock.now())))
    },
    async passed(account) {
      await attempts.clear(lockOf(account))
      await attempts.clear(countedOf(account))
    },
  }
}
