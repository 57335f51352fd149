import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, secondsUntil } from '../clock.ts'
import type { Origin, Publish } from '../event/event.ts'
import { Refusal } from '../refusal.ts'
import type { LoginType } from '../session.ts'
import type { Side } from '../side/side.ts'
import type { AttemptStore } from '../store/store.ts'
import { createTurns, type Turns } from '../turns.ts'
import { networkOf } from './address.ts'
import { tooManyAttempts } from './rate-limit.ts'

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

/** Brute-force protection ("Protective features"; design: Lockout). */
export interface Lockout {
  /** `name` as typed, or as written in the account: if a source accepts several spellings, they share one count. */
  subject(name: string, loginId: string | null): Subject
  /** Refuses an address with too many failures with `TOO_MANY_ATTEMPTS`. */
  checkAddress(address: string): Promise<void>
  /** Counts a failure for its address alone: a wrong code, which has a lockout of its own. */
  failedFrom(address: string): Promise<void>
  /**
   * Verifies a password, and answers what `verify` answers if it is right. The attempt is counted before it is verified, so that
   * guesses at the same time, in any number of workers and gateways, are as few as one after the other. Refuses a locked name
   * with `DISABLED` and without a verification; a lock ends early when its login id is untied. A wrong password, for which
   * `verify` answers `null`, is refused with `WRONG_CREDENTIALS`, and locks the name when the limit is reached. A right one
   * deletes the failures. What could not be verified does not count. Refuses with `BUSY` if others stay unanswered for long.
   */
  counted<T>(subject: Subject, address: string, origin: Origin, verify: () => Promise<T | null>): Promise<T>
}

export interface LockoutOptions {
  side: Pick<Side, 'type' | 'disable' | 'getDisableTime' | 'isDisable'>
  attempts: AttemptStore
  settings: LockoutSettings
  clock: Clock
}

/**
 * How often an attempt asks whether it can be verified, and for how long, in milliseconds: while as many are being verified
 * in other processes as could lock the name.
 */
const ASK_AGAIN = 25
const MAX_WAIT = 5000
const WAITING_PER_NAME = 64
/** Begins the login id that stands for an unknown name; behind it is a digest of the name. */
const UNKNOWN = 'unknown:'

/**
 * A name that no account has may be a password, typed into the wrong field. So no event has it: not even its digest, from which
 * a weak password can be guessed.
 */
export const withoutUnknownNames =
  (publish: Publish): Publish =>
  event =>
    publish(event.login_id?.startsWith(UNKNOWN) === true ? { ...event, login_id: null } : event)

/** The names of the counters of a side. */
const countersOf = (type: LoginType) => ({
  /** Attempts that began, and were neither right nor taken back. */
  begunOf: ({ key }: Subject): string => `begun:${type}:name:${key}`,
  failuresOf: ({ key }: Subject): string => `failures:${type}:name:${key}`,
  lockOf: ({ key }: Subject): string => `locked:${type}:${key}`,
  /** The same for one of the login ids that share a name: a source may distinguish `ann` from `Ann`. */
  ownFailuresOf: ({ key, loginId }: Subject): string => `failures:${type}:name:${key}:${loginId}`,
  ownLockOf: ({ key, loginId }: Subject): string => `locked:${type}:${key}:${loginId}`,
  failuresFrom: (address: string): string => `failures:${type}:address:${networkOf(address)}`,
})

/** Attempts for one name run one after the other in a process, for several names at the same time. */
function createTurnsByName() {
  const turns = new Map<string, { take: Turns; users: number }>()
  return async <T>({ key }: Subject, attempt: () => Promise<T>): Promise<T> => {
    const turn = turns.get(key) ?? { take: createTurns(1, WAITING_PER_NAME), users: 0 }
    turns.set(key, turn)
    turn.users += 1
    try {
      return await turn.take(attempt)
    } finally {
      turn.users -= 1
      if (turn.users === 0) turns.delete(key)
    }
  }
}

/** Failures of client addresses, of whatever names. */
function createAddressFailures(options: LockoutOptions): Pick<Lockout, 'checkAddress' | 'failedFrom'> {
  const { side, attempts, settings, clock } = options
  const { failuresFrom } = countersOf(side.type)
  return {
    async checkAddress(address) {
      const found = await attempts.read(failuresFrom(address))
      if (found !== null && found.count >= settings.address_failures) throw tooManyAttempts(found.resetsAt, clock)
    },
    failedFrom: async address => void (await attempts.count(failuresFrom(address), settings.address_window)),
  }
}

/** The failures of names. A name counts in any case, so accounts whose names differ in case only share the count. */
function createFailures({ side, attempts, settings }: LockoutOptions) {
  const { begunOf, failuresOf, ownFailuresOf } = countersOf(side.type)

  const forget = async (subject: Subject): Promise<void> =>
    void (await Promise.all([failuresOf, ownFailuresOf, begunOf].map(nameOf => attempts.clear(nameOf(subject)))))

  return {
    forget,
    /** Counts a failure; answers how many the name has. */
    async count(subject: Subject): Promise<number> {
      const [{ count }] = await Promise.all([
        attempts.count(failuresOf(subject), settings.window),
        attempts.count(ownFailuresOf(subject), settings.window),
      ])
      return count
    },
    /** The attempt was right. Failures of another account with this name stay: the user of this one may be guessing at it. */
    async passed(subject: Subject): Promise<void> {
      const [all, own] = await Promise.all([failuresOf, ownFailuresOf].map(nameOf => attempts.read(nameOf(subject))))
      if ((all?.count ?? 0) <= (own?.count ?? 0)) await forget(subject)
      else await Promise.all([attempts.clear(ownFailuresOf(subject)), attempts.takeBack(begunOf(subject))])
    },
  }
}

/** The locks of names. */
function createLocks(options: LockoutOptions, forget: (subject: Subject) => Promise<void>) {
  const { side, attempts, settings, clock } = options
  const { lockOf, ownLockOf } = countersOf(side.type)

  /** The id first, then the name: `check` treats a lock without a disabled id as untied. */
  async function lock(subject: Subject, until: number, origin: Origin): Promise<void> {
    const seconds = Math.max(1, secondsUntil(until, clock.now()))
    // A longer disable by an administrator stays.
    const isLonger = (await side.getDisableTime(subject.loginId)) < seconds
    if (isLonger) await side.disable(subject.loginId, seconds, { ...origin, reason: 'too-many-failures' })
    await attempts.set(ownLockOf(subject), 1, until)
    await attempts.set(lockOf(subject), 1, until)
  }

  return {
    async check(subject: Subject, origin: Origin): Promise<void> {
      const found = await attempts.read(lockOf(subject))
      if (found === null) return
      const isOwn = (await attempts.read(ownLockOf(subject))) !== null
      // Locked by another id of this name: only its own untying ends a lock.
      if (!isOwn) await lock(subject, found.resetsAt, origin)
      if (!isOwn || (await side.isDisable(subject.loginId))) throw locked(secondsUntil(found.resetsAt, clock.now()))
      await Promise.all([lockOf, ownLockOf].map(nameOf => attempts.clear(nameOf(subject))))
      await forget(subject)
    },
    async lock(subject: Subject, origin: Origin): Promise<void> {
      await lock(subject, clock.now() + Math.ceil(settings.disable / 1000) * 1000, origin)
      await forget(subject)
    },
  }
}

export function createLockout(options: LockoutOptions): Lockout {
  const { side, attempts, settings, clock } = options
  const inTurn = createTurnsByName()
  const { begunOf } = countersOf(side.type)
  const { checkAddress, failedFrom } = createAddressFailures(options)
  const failures = createFailures(options)
  const { check, lock } = createLocks(options, failures.forget)

  /** Counts an attempt that begins. Others that began before it may still be right, so it waits for them and locks nothing. */
  async function begin(subject: Subject, origin: Origin): Promise<void> {
    const began = clock.now()
    await check(subject, origin)
    while (!(await attempts.countUpTo(begunOf(subject), settings.window, settings.failures))) {
      if (clock.now() - began > MAX_WAIT) throw new Refusal('BUSY')
      await pause(ASK_AGAIN)
      await check(subject, origin)
    }
  }

  /** The answer of `verify` to an attempt that was counted. What fails says nothing about the password, and is taken back. */
  async function answer<T>(subject: Subject, origin: Origin, verify: () => Promise<T | null>): Promise<T | null> {
    try {
      // A lock that came meanwhile has cleared the count.
      await check(subject, origin)
      return await verify()
    } catch (fault) {
      await attempts.takeBack(begunOf(subject)).catch(() => undefined)
      throw fault
    }
  }

  return {
    checkAddress,
    failedFrom,
    subject(name, loginId) {
      const key = createHash('sha256').update(name.toLowerCase()).digest('hex').slice(0, 32)
      return { key, loginId: loginId ?? `${UNKNOWN}${key}` }
    },
    counted: (subject, address, origin, verify) =>
      inTurn(subject, async () => {
        await begin(subject, origin)
        const right = await answer(subject, origin, verify)
        if (right !== null) {
          // Another process may have locked the name meanwhile.
          await check(subject, origin)
          await failures.passed(subject)
          return right
        }
        await failedFrom(address)
        if ((await failures.count(subject)) >= settings.failures) await lock(subject, origin)
        throw new Refusal('WRONG_CREDENTIALS')
      }),
  }
}

const locked = (seconds: number): Refusal =>
  new Refusal('DISABLED', { params: { seconds }, data: { disable_time: Math.max(1, seconds) } })
