import { type Clock, endsTooLate, secondsUntil } from '../../base/clock.ts'
import type { Refusal } from '../../base/refusal.ts'
import type { Origin } from '../../event/event.ts'
import type { LoginType } from '../../session/sides.ts'
import { disabledFor, isLockOfBefore } from '../../side/disable.ts'
import { MAX_SECONDS } from '../../side/input.ts'
import type { Side } from '../../side/side.ts'
import { createAttemptWindows } from '../../store/attempt-windows.ts'
import type { AttemptStore, Attempts } from '../../store/store.ts'
import { networkOf } from './network.ts'

/* What the store keeps for the lockout: failures of names and addresses, and the locks of names. */

export interface LockoutSettings {
  /** Failures of one name within `window` milliseconds that disable it for `disable` milliseconds. */
  failures: number
  window: number
  disable: number
  /** Failures from one client address within `address_window` milliseconds; then it has to wait. */
  address_failures: number
  address_window: number
}

/** The account name that attempts count against. Unknown names are counted, locked and checked in the same way. */
export interface Subject {
  /** The key of the name in counters, of bounded length. */
  readonly key: string
  /** The login id that is disabled; for an unknown name, an id that no session can have. */
  readonly loginId: string
}

export interface LockoutOptions {
  side: Pick<Side, 'type' | 'lockOut' | 'getDisableTime' | 'isDisable'>
  attempts: AttemptStore
  settings: LockoutSettings
  clock: Clock
}

/** The names of the counters of a side. */
export const countersOf = (type: LoginType) => ({
  /** Of attempts under way. */
  underWayOf: ({ key }: Subject): string => `${type}:name:${key}`,
  failuresOf: ({ key }: Subject): string => `failures:${type}:name:${key}`,
  lockOf: ({ key }: Subject): string => `locked:${type}:${key}`,
  /** The same for one of the login ids that share a name: a source may distinguish `ann` from `Ann`. */
  ownFailuresOf: ({ key, loginId }: Subject): string => `failures:${type}:name:${key}:${loginId}`,
  ownLockOf: ({ key, loginId }: Subject): string => `locked:${type}:${key}:${loginId}`,
  failuresFrom: (address: string): string => `failures:${type}:address:${networkOf(address)}`,
})

/** The failures of names. A name counts in any case, so accounts whose names differ in case only share the count. */
export function createFailures({ side, attempts, settings, clock }: LockoutOptions) {
  const windows = createAttemptWindows(attempts, clock)
  const { failuresOf, ownFailuresOf } = countersOf(side.type)

  const forget = async (subject: Subject): Promise<void> =>
    void (await Promise.all([failuresOf, ownFailuresOf].map(nameOf => attempts.clear(nameOf(subject)))))

  return {
    forget,
    read: async (subject: Subject): Promise<number> =>
      (await windows.read(failuresOf(subject), settings.window))?.count ?? 0,
    /** Counts a failure; answers how many the name has. */
    async count(subject: Subject): Promise<number> {
      const [{ count }] = await Promise.all([
        windows.count(failuresOf(subject), settings.window),
        windows.count(ownFailuresOf(subject), settings.window),
      ])
      return count
    },
    /** The attempt was right. Failures of another account with this name stay: the user of this one may be guessing at it. */
    async passed(subject: Subject): Promise<void> {
      const [all, own] = await Promise.all([failuresOf, ownFailuresOf].map(nameOf => attempts.read(nameOf(subject))))
      if ((all?.count ?? 0) <= (own?.count ?? 0)) await forget(subject)
      else await attempts.clear(ownFailuresOf(subject))
    },
  }
}

export type Failures = ReturnType<typeof createFailures>

/** What stands in the own lock of an id: it is locked, or was untied from the lock of its name, which others may share. */
const [LOCKED, UNTIED] = [1, 2]

/** The locks of names. */
export function createLocks(options: LockoutOptions, forget: (subject: Subject) => Promise<void>) {
  const { side, attempts, settings, clock } = options
  const { lockOf, ownLockOf } = countersOf(side.type)

  /** The id first, then the name: `check` treats the lock of a name without that of its id as untied. */
  async function lock(subject: Subject, until: number, origin: Origin): Promise<void> {
    // A longer time than an id can be disabled for would be no lock at all.
    const seconds = Math.min(MAX_SECONDS, Math.max(1, secondsUntil(until, clock.now())))
    // A longer disable by an administrator stays.
    const isLonger = (await side.getDisableTime(subject.loginId)) < seconds
    if (isLonger) await side.lockOut(subject.loginId, seconds, origin)
    await attempts.set(ownLockOf(subject), LOCKED, until)
    await attempts.set(lockOf(subject), secondsUntil(until, clock.now()), until)
  }

  /** `null` also for that of an earlier lock, which ends later because the clock was set back. */
  async function readOwn(subject: Subject, { count: seconds }: Attempts): Promise<Attempts | null> {
    const own = await attempts.read(ownLockOf(subject))
    return own === null || endsTooLate(own.resetsAt, seconds * 1000, clock.now()) ? null : own
  }

  return {
    async check(subject: Subject, origin: Origin): Promise<void> {
      const found = await attempts.read(lockOf(subject))
      if (found === null || isLockOfBefore(found, clock.now())) return
      const own = await readOwn(subject, found)
      if (own?.count === UNTIED) return
      // Locked by another id of this name: only its own untying ends a lock.
      if (own === null) await lock(subject, found.resetsAt, origin)
      if (own === null || (await side.isDisable(subject.loginId)))
        throw locked(secondsUntil(found.resetsAt, clock.now()))
      await attempts.set(ownLockOf(subject), UNTIED, found.resetsAt)
      await forget(subject)
    },
    async lock(subject: Subject, origin: Origin): Promise<void> {
      await lock(subject, clock.now() + Math.ceil(settings.disable / 1000) * 1000, origin)
      await forget(subject)
    },
  }
}

export type Locks = ReturnType<typeof createLocks>

const locked = (seconds: number): Refusal => disabledFor(Math.max(1, seconds))
