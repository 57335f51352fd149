import { createHash } from 'node:crypto'
import { type Clock, secondsUntil } from '../clock.ts'
import type { Origin } from '../event/event.ts'
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
  /** Runs attempts for one name one after the other. Otherwise simultaneous guesses would count as one. */
  inTurn<T>(subject: Subject, attempt: () => Promise<T>): Promise<T>
  /** Refuses a locked name with `DISABLED`. A lock ends early when its login id is untied. */
  check(subject: Subject): Promise<void>
  /** Counts a failure, and locks the name when the limit is reached. */
  failed(subject: Subject, address: string, origin?: Origin): Promise<void>
  /**
   * Verifies a password of a client that has a session: it is counted before it is verified, so that guesses at the same time,
   * in any number of workers and gateways, are as few as one after the other. Refuses a locked name like `check`, and a wrong
   * password with `WRONG_CREDENTIALS`. A password that could not be verified counts, too.
   */
  counted(subject: Subject, address: string, origin: Origin, isRight: () => Promise<boolean>): Promise<void>
  /** Deletes the failures of a name. Refuses like `check` if another process has locked the name meanwhile. */
  passed(subject: Subject): Promise<void>
}

export interface LockoutOptions {
  side: Pick<Side, 'type' | 'disable' | 'getDisableTime' | 'isDisable'>
  attempts: AttemptStore
  settings: LockoutSettings
  clock: Clock
}

const WAITING_PER_NAME = 64
/** Begins the login id that stands for an unknown name; behind it is a digest of the name. */
const UNKNOWN = 'unknown:'

/** Whether a login id stands for a name that no account has. */
export const isUnknownName = (loginId: string): boolean => loginId.startsWith(UNKNOWN)

/** The names of the counters of a side. */
const countersOf = (type: LoginType) => ({
  failuresOf: ({ key }: Subject): string => `failures:${type}:name:${key}`,
  lockOf: ({ key }: Subject): string => `locked:${type}:${key}`,
  failuresFrom: (address: string): string => `failures:${type}:address:${networkOf(address)}`,
})

/** Attempts for one name run one after the other, for several names at the same time. */
function createTurnsByName(): Lockout['inTurn'] {
  const turns = new Map<string, { take: Turns; users: number }>()
  return async ({ key }, attempt) => {
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

export function createLockout(options: LockoutOptions): Lockout {
  const { side, attempts, settings, clock } = options
  const inTurn = createTurnsByName()
  const { failuresOf, lockOf } = countersOf(side.type)
  const { checkAddress, failedFrom } = createAddressFailures(options)

  async function check(subject: Subject): Promise<void> {
    const lock = await attempts.read(lockOf(subject))
    if (lock === null) return
    if (await side.isDisable(subject.loginId)) throw locked(secondsUntil(lock.resetsAt, clock.now()))
    await attempts.clear(lockOf(subject))
    await attempts.clear(failuresOf(subject))
  }

  /** The id first, then the name: `check` treats a lock without a disabled id as untied. */
  async function lock(subject: Subject, origin: Origin): Promise<void> {
    const seconds = Math.ceil(settings.disable / 1000)
    // A longer disable by an administrator stays.
    const isLonger = (await side.getDisableTime(subject.loginId)) < seconds
    if (isLonger) await side.disable(subject.loginId, seconds, { ...origin, reason: 'too-many-failures' })
    await attempts.set(lockOf(subject), 1, clock.now() + seconds * 1000)
    await attempts.clear(failuresOf(subject))
  }

  async function passed(subject: Subject): Promise<void> {
    await check(subject)
    await attempts.clear(failuresOf(subject))
  }

  return {
    check,
    inTurn,
    subject(name, loginId) {
      const key = createHash('sha256').update(name.toLowerCase()).digest('hex').slice(0, 32)
      return { key, loginId: loginId ?? `${UNKNOWN}${key}` }
    },
    checkAddress,
    failedFrom,
    async failed(subject, address, origin = {}) {
      await failedFrom(address)
      const { count } = await attempts.count(failuresOf(subject), settings.window)
      if (count >= settings.failures) await lock(subject, origin)
    },
    passed,
    counted: (subject, address, origin, isRight) =>
      inTurn(subject, async () => {
        await check(subject)
        const { count } = await attempts.count(failuresOf(subject), settings.window)
        // A lock that came meanwhile has cleared the count.
        await check(subject)
        if (count <= settings.failures && (await isRight())) return passed(subject)
        await failedFrom(address)
        if (count >= settings.failures) await lock(subject, origin)
        if (count > settings.failures) await check(subject)
        throw new Refusal('WRONG_CREDENTIALS')
      }),
  }
}

const locked = (seconds: number): Refusal =>
  new Refusal('DISABLED', { params: { seconds }, data: { disable_time: Math.max(1, seconds) } })
