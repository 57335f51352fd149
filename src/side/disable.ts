import { type Clock, endsTooLate } from '../base/clock.ts'
import { Refusal } from '../base/refusal.ts'
import type { Origin } from '../event/event.ts'
import type { LoginType } from '../session/sides.ts'
import type { AttemptStore, Attempts, SessionStore } from '../store/store.ts'
import { checkLoginId, checkSeconds, MAX_SECONDS, NONE, remaining } from './input.ts'
import type { Confirmed } from './replicated-events.ts'

export interface DisableOptions {
  type: LoginType
  store: SessionStore
  /** Keeps the locks after failed logins. */
  attempts: Pick<AttemptStore, 'read' | 'set' | 'clear'>
  clock: Clock
  confirmed: Confirmed
}

const toWait = (seconds: number) => ({ params: { minutes: Math.ceil(seconds / 60) }, data: { disable_time: seconds } })

/** Whether a lock, whose count is the seconds for which it was set, is over because the clock was set back since. */
export const isLockOfBefore = ({ count, resetsAt }: Attempts, now: number): boolean =>
  endsTooLate(resetsAt, count * 1000, now)

/** The refusal of a login while its id is disabled. */
export const disabledFor = (seconds: number): Refusal => new Refusal('DISABLED', toWait(seconds))

/** The refusal of a request while the login id of its session is disabled. */
export const sessionDisabledFor = (seconds: number): Refusal => new Refusal('SESSION_DISABLED', toWait(seconds))

/**
 * For how many seconds a login id stays disabled; -1 when it is not. Other programs can disable one without an end: it counts as
 * disabled for the longest time that there is.
 */
export const disabledSeconds = (until: number | null, now: number): number =>
  until === Number.POSITIVE_INFINITY ? MAX_SECONDS : remaining(until, now)

/**
 * The operations that disable login ids for a time ("Login-id disable"), and the lock of an id after failed logins. Any client can
 * cause a lock: so it refuses logins alone, and is no disable record. What an administrator, a backend or another program disables
 * is refused on requests too, where `disable.enforce` says so. Whoever asks whether an id is disabled, asks about logins: both count.
 */
export function createDisable(options: DisableOptions) {
  const { type, store, attempts, clock, confirmed } = options
  const { lockOf, lockedFor, disabledOnly } = createTimes(options)

  async function disable(loginId: string, seconds: number, origin: Origin): Promise<void> {
    checkLoginId(loginId)
    checkSeconds(seconds)
    await store.disable(type, loginId, clock.now() + seconds * 1000)
    await confirmed({ event: 'disable', login_id: loginId, seconds, ...origin })
  }

  const isDisable = async (loginId: string): Promise<boolean> => (await getDisableTime(loginId)) !== NONE

  /** Refuses the logins of an id for a time, after failed ones. */
  async function lockOut(loginId: string, seconds: number, origin: Origin): Promise<void> {
    checkLoginId(loginId)
    checkSeconds(seconds)
    await attempts.set(lockOf(loginId), seconds, clock.now() + seconds * 1000)
    await confirmed({ event: 'disable', login_id: loginId, seconds, ...origin, reason: 'too-many-failures' })
  }

  /** untie disable: ends a disable and a lock; `false` when there was neither. */
  async function untieDisable(loginId: string, origin: Origin): Promise<boolean> {
    checkLoginId(loginId)
    const isLocked = (await lockedFor(loginId)) !== NONE
    if (isLocked) await attempts.clear(lockOf(loginId))
    if (!(await store.untieDisable(type, loginId)) && !isLocked) return false
    await confirmed({ event: 'untie-disable', login_id: loginId, ...origin })
    return true
  }

  /** get disable time: seconds for which the id stays disabled; -1 when it is not. */
  async function getDisableTime(loginId: string): Promise<number> {
    checkLoginId(loginId)
    return Math.max(...(await Promise.all([disabledOnly(loginId), lockedFor(loginId)])))
  }

  /** check disable: refuses with `DISABLED` while the id is disabled. */
  async function checkDisable(loginId: string): Promise<void> {
    const seconds = await getDisableTime(loginId)
    if (seconds !== NONE) throw disabledFor(seconds)
  }

  /** Refuses a login with `DISABLED` while its id is locked. The store refuses a disabled one itself. */
  async function checkLock(userId: string): Promise<void> {
    const seconds = await lockedFor(userId)
    if (seconds !== NONE) throw disabledFor(seconds)
  }

  /** Refuses a request with `SESSION_DISABLED` while the login id of its session is disabled. */
  async function enforce(userId: string): Promise<void> {
    const seconds = await disabledOnly(userId)
    if (seconds !== NONE) throw sessionDisabledFor(seconds)
  }

  return { disable, isDisable, untieDisable, getDisableTime, checkDisable, lockOut, checkLock, enforce }
}

/** For how long a login id is locked, and for how long it is disabled: each by itself. */
function createTimes({ type, store, attempts, clock }: Omit<DisableOptions, 'confirmed'>) {
  const lockOf = (loginId: string): string => `lockout:${type}:${loginId}`

  /** Seconds for which the logins of an id stay locked after failed ones; -1 when they are not. */
  async function lockedFor(loginId: string): Promise<number> {
    const lock = await attempts.read(lockOf(loginId))
    return lock === null || isLockOfBefore(lock, clock.now()) ? NONE : remaining(lock.resetsAt, clock.now())
  }

  const disabledOnly = async (loginId: string): Promise<number> =>
    disabledSeconds(await store.disabledUntil(type, loginId), clock.now())

  return { lockOf, lockedFor, disabledOnly }
}
