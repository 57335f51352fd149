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

/** The locks of names, and the counts that lead to them. */
function createLocks({ side, attempts, settings, clock }: LockoutOptions) {
  const { begunOf, failuresOf, lockOf } = countersOf(side.type)

  const forget = async (subject: Subject): Promise<void> =>
    void (await Promise.all([attempts.clear(failuresOf(subject)), attempts.clear(begunOf(subject))]))

  return {
    forget,
    async check(subject: Subject): Promise<void> {
      const lock = await attempts.read(lockOf(subject))
      if (lock === null) return
      if (await side.isDisable(subject.loginId)) throw locked(secondsUntil(lock.resetsAt, clock.now()))
      await attempts.clear(lockOf(subject))
      await forget(subject)
    },
    /** The id first, then the name: `check` treats a lock without a disabled id as untied. */
    async lock(subject: Subject, origin: Origin): Promise<void> {
      const seconds = Math.ceil(settings.disable / 1000)
      // A longer disable by an administrator stays.
      const isLonger = (await side.getDisableTime(subject.loginId)) < seconds
      if (isLonger) await side.disable(subject.loginId, seconds, { ...origin, reason: 'too-many-failures' })
      await attempts.set(lockOf(subject), 1, clock.now() + seconds * 1000)
      await forget(subject)
    },
  }
}

export function createLockout(options: LockoutOptions): Lockout {
  const { side, attempts, settings, clock } = options
  const inTurn = createTurnsByName()
  const { begunOf, failuresOf } = countersOf(side.type)
  const { checkAddress, failedFrom } = createAddressFailures(options)
  const { check, lock, forget } = createLocks(options)

  /** Counts an attempt that begins. Others that began before it may still be right, so it waits for them and locks nothing. */
  async function begin(subject: Subject): Promise<void> {
    const began = clock.now()
    await check(subject)
    while (!(await attempts.countUpTo(begunOf(subject), settings.window, settings.failures))) {
      if (clock.now() - began > MAX_WAIT) throw new Refusal('BUSY')
      await pause(ASK_AGAIN)
      await check(subject)
    }
  }

  /** The answer of `verify` to an attempt that was counted. What fails says nothing about the password, and is taken back. */
  async function answer<T>(subject: Subject, verify: () => Promise<T | null>): Promise<T | null> {
    try {
      // A lock that came meanwhile has cleared the count.
      await check(subject)
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
        await begin(subject)
        const right = await answer(subject, verify)
        if (right !== null) {
          // Another process may have locked the name meanwhile.
          await check(subject)
          await forget(subject)
          return right
        }
        await failedFrom(address)
        const { count } = await attempts.count(failuresOf(subject), settings.window)
        if (count >= settings.failures) await lock(subject, origin)
        throw new Refusal('WRONG_CREDENTIALS')
      }),
  }
}

const locked = (seconds: number): Refusal =>
  new Refusal('DISABLED', { params: { seconds }, data: { disable_time: Math.max(1, seconds) } })
