import { createHash } from 'node:crypto'
import { Refusal } from '../../base/refusal.ts'
import { createTaskQueue, type TaskQueue } from '../../base/task-queue.ts'
import type { Origin, Publish } from '../../event/event.ts'
import { createAttemptWindows } from '../../store/attempt-windows.ts'
import { createAttemptsInFlight } from './attempts-in-flight.ts'
import { countersOf, createFailures, createLocks, type LockoutOptions, type Subject } from './lockout-counters.ts'
import { tooMany } from './login-rate-limit.ts'

export type { LockoutSettings } from './lockout-counters.ts'

/** Brute-force protection ("Protective features"; design: Lockout). */
export interface Lockout {
  /** `name` as typed, or as written in the account: if a source accepts several spellings, they share one count. */
  subject(name: string, loginId: string | null): Subject
  /** Refuses an address with too many failures with `TOO_MANY_ATTEMPTS`. */
  checkAddress(address: string): Promise<void>
  /**
   * Counts a failure for its address alone: a wrong code, which has a lockout of its own. Refuses with `TOO_MANY_ATTEMPTS` if
   * others have reached the limit meanwhile.
   */
  failedFrom(address: string): Promise<void>
  /** The same for wrong keys of programs, which are refused with `TOO_MANY_WRONG_KEYS`. */
  wrongKeysFrom(address: string): { check(): Promise<void>; count(): Promise<void> }
  /**
   * Verifies a password, and answers what `verify` answers if it is right. The attempt counts while it is verified, so that
   * guesses at the same time, in any number of workers and gateways, are as few as one after the other. Refuses a locked name
   * with `DISABLED` and without a verification; a lock ends early when its login id is untied. A wrong password, for which
   * `verify` answers `null`, is refused with `WRONG_CREDENTIALS`, and locks the name when the limit is reached. A right one
   * deletes the failures. Of an address that reaches its limit meanwhile, right and wrong passwords are refused with
   * `TOO_MANY_ATTEMPTS`: no more guesses are answered at the same time than one after the other. What could not be verified does
   * not count. Refuses with `BUSY` if others stay unanswered for long, or if the verification takes too long.
   */
  counted<T>(subject: Subject, address: string, origin: Origin, verify: () => Promise<T | null>): Promise<T>
}

/** Attempts for one name that wait for their turn in a process. */
const WAITING_PER_NAME = 64
/** Begins the login id that stands for an unknown name; behind it is a digest of the name. No provider can be named so. */
const UNKNOWN = '_unknown:'

/**
 * A name that no account has may be a password, typed into the wrong field. So no event has it: not even its digest, from which
 * a weak password can be guessed.
 */
export const withoutUnknownNames =
  (publish: Publish): Publish =>
  event =>
    publish(event.login_id?.startsWith(UNKNOWN) === true ? { ...event, login_id: null } : event)

/** Attempts for one name run one after the other in a process, for several names at the same time. */
function createTurnsByName() {
  const turns = new Map<string, { take: TaskQueue; users: number }>()
  return async <T>({ key }: Subject, attempt: () => Promise<T>): Promise<T> => {
    const turn = turns.get(key) ?? { take: createTaskQueue(1, WAITING_PER_NAME), users: 0 }
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

/** Failures of client addresses, of whatever names and keys. */
function createAddressFailures(
  options: LockoutOptions,
): Pick<Lockout, 'checkAddress' | 'failedFrom' | 'wrongKeysFrom'> {
  const { side, attempts, settings, clock } = options
  const { failuresFrom } = countersOf(side.type)
  const windows = createAttemptWindows(attempts, clock)
  const createChecks = (reason: 'TOO_MANY_ATTEMPTS' | 'TOO_MANY_WRONG_KEYS') => ({
    async check(address: string): Promise<void> {
      const found = await windows.read(failuresFrom(address), settings.address_window)
      if (found !== null && found.count >= settings.address_failures) throw tooMany(reason, found.resetsAt, clock)
    },
    async count(address: string): Promise<void> {
      const { count, resetsAt } = await windows.count(failuresFrom(address), settings.address_window)
      if (count > settings.address_failures) throw tooMany(reason, resetsAt, clock)
    },
  })
  const { check: checkAddress, count: failedFrom } = createChecks('TOO_MANY_ATTEMPTS')
  const { check, count } = createChecks('TOO_MANY_WRONG_KEYS')
  return {
    checkAddress,
    failedFrom,
    wrongKeysFrom: address => ({ check: () => check(address), count: () => count(address) }),
  }
}

/**
 * Letters that databases compare as these, and that have no decomposition in Unicode. The collation of the source is not known here,
 * and collations differ: some equate all of these, others a few.
 */
const EQUATED: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  l·: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
}
const LETTERS = new RegExp(Object.keys(EQUATED).join('|'), 'g')

/** The digits of each script stand in one row, from 0 to 9. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0)!
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
  return String((code - zero) % 10)
}

/**
 * The form in which names count: without regard to case, width, accents of Latin, Greek and Cyrillic letters, characters that are not
 * shown, the script of digits, spaces at the ends, and how many stand between words. Databases and directories compare so. If
 * spellings of an unknown name were counted apart, a shared count would tell that an account exists. Names in ASCII that differ in
 * more than case and spaces never share a count.
 */
const folded = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]|\p{Default_Ignorable_Code_Point}/gu, '')
    .trim()
    .replace(/\s+/g, ' ')
    .toLowerCase()
    .replace(LETTERS, letter => EQUATED[letter]!)
    .replace(/\p{Nd}/gu, asciiDigit)
    // Marks of other scripts mean nothing on a letter of this one; on their own they are vowels.
    .replace(/(?<=^|\p{ASCII})\p{M}+/gu, '')

export function createLockout(options: LockoutOptions): Lockout {
  const { settings } = options
  const inTurn = createTurnsByName()
  const { checkAddress, failedFrom, wrongKeysFrom } = createAddressFailures(options)
  const failures = createFailures(options)
  const locks = createLocks(options, failures.forget)
  const begin = createAttemptsInFlight(options, failures, locks)

  async function fail(subject: Subject, address: string, origin: Origin): Promise<never> {
    if ((await failures.count(subject)) >= settings.failures) await locks.lock(subject, origin)
    await failedFrom(address)
    throw new Refusal('WRONG_CREDENTIALS')
  }

  return {
    checkAddress,
    failedFrom,
    wrongKeysFrom,
    subject(name, loginId) {
      const key = createHash('sha256').update(folded(name)).digest('hex').slice(0, 32)
      return { key, loginId: loginId ?? `${UNKNOWN}${key}` }
    },
    counted: (subject, address, origin, verify) =>
      inTurn(subject, async () => {
        const begun = await begin(subject, origin)
        try {
          const right = await verify()
          begun.checkInTime()
          if (right === null) return await fail(subject, address, origin)
          // Another process may have locked the name meanwhile, or counted the last failure of the address.
          await Promise.all([locks.check(subject, origin), checkAddress(address)])
          await failures.passed(subject)
          return right
        } finally {
          await begun.end()
        }
      }),
  }
}
