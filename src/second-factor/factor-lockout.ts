import type { Account } from '../account/source.ts'
import { type Clock, DAY, secondsUntil } from '../base/clock.ts'
import type { LoginType } from '../session/sides.ts'
import { disabledFor } from '../side/disable.ts'
import { createAttemptWindows } from '../store/attempt-windows.ts'
import type { AttemptStore } from '../store/store.ts'
import { nameOf } from './sealed.ts'

export interface FactorLockout {
  /**
   * Counts an attempt before its code is checked, so that attempts at the same time cannot outrun the count. Refuses with
   * `DISABLED` without a check while the step is locked. Answers for how many seconds the attempt locks the step if its code is
   * wrong; `null` if it does not.
   */
  admit(account: Account): Promise<number | null>
  /** The code was right: its attempts are forgotten. Answers how many there were before it. */
  passed(account: Account): Promise<number>
}

export interface FactorLockoutOptions {
  type: LoginType
  attempts: Pick<AttemptStore, 'count' | 'read' | 'clear'>
  /** How long wrong codes lock the step for the first time, in milliseconds. */
  disable: number
  clock: Clock
}

/** Attempts that are checked before the step locks. */
const FREE = 5
/**
 * For how long attempts without a right code are counted, in milliseconds. When a lock ends, each further attempt locks again, for
 * twice as long as before and a day at most. So a client with the password can try about 45 codes in this time; three of a million
 * are right at any time.
 */
const COUNTED = 30 * DAY
const LONGEST = DAY

/**
 * The lockout of wrong codes, apart from that of passwords, by login id. It is checked only after the right password: without it, no
 * client learns that a second factor exists. It ends with the factor of the account: after an administrator has reset the
 * factor, its wrong codes do not keep the user from setting up another one. Otherwise only a right code removes or replaces a
 * factor, so this allows no further guesses.
 */
export function createFactorLockout({ type, attempts, disable, clock }: FactorLockoutOptions): FactorLockout {
  const windows = createAttemptWindows(attempts, clock)
  const nameFor = ({ id, secondFactor }: Account): string => `second-factor:${type}:${id}:${nameOf(secondFactor)}`
  const countedOf = (account: Account): string => `${nameFor(account)}:attempts`
  const lockOf = (account: Account): string => `${nameFor(account)}:locked`
  /** How often the step was locked. */
  const locksOf = (account: Account): string => `${nameFor(account)}:locks`
  /** Attempts that were checked. */
  const checkedOf = (account: Account): string => `${nameFor(account)}:checked`
  return {
    async admit(account) {
      const { count } = await attempts.count(countedOf(account), COUNTED)
      if (count < FREE) {
        await attempts.count(checkedOf(account), COUNTED)
        return null
      }
      const locks = (await attempts.read(locksOf(account)))?.count ?? 0
      // The attempt that begins the lock is the last that is checked in it.
      const lock = await windows.count(lockOf(account), Math.max(disable, Math.min(disable * 2 ** locks, LONGEST)))
      const seconds = Math.max(1, secondsUntil(lock.resetsAt, clock.now()))
      if (lock.count > 1) throw disabledFor(seconds)
      await attempts.count(locksOf(account), COUNTED)
      await attempts.count(checkedOf(account), COUNTED)
      return seconds
    },
    async passed(account) {
      const checked = (await attempts.read(checkedOf(account)))?.count ?? 0
      for (const nameOf of [lockOf, locksOf, checkedOf, countedOf]) await attempts.clear(nameOf(account))
      return Math.max(0, checked - 1)
    },
  }
}
