import type { Step } from '../../src/login/sign-in/attempt.ts'
import { codeAt } from '../second-factor/factor-fixture.ts'

/* What a login has to come to, by the design alone ("Steps of a login", "Second factor"). Times are milliseconds. */

const TICKET_LIFETIME = 300_000
const SESSION_LIFETIME = 3_600_000
const CODES_OF_A_TICKET = 5
const CODES_OF_AN_ACCOUNT = 5
const CODES_COUNTED_FOR = 30 * 86_400_000
const CODE_LOCK = 300_000
const LONGEST_CODE_LOCK = 86_400_000
export const MAX_PASSWORD_AGE = 7_200_000
/** Whose users must have a second factor. */
export const CHIEF = 'chief'

export interface ModelFactor {
  secret: string
  lastStep: number
  recoveryCodes: string[]
}

/** Attempts without a right code, the locks that they brought, and until when both are counted. */
interface CountedCodes {
  count: number
  until: number
  locks: number
  locksUntil: number
  lockedUntil: number
}

const noCodes = (): CountedCodes => ({ count: 0, until: 0, locks: 0, locksUntil: 0, lockedUntil: 0 })

export interface ModelAccount {
  id: string
  username: string
  password: string
  passwordChangedAt: number
  mustChange: boolean
  status: 'ACTIVE' | 'LOCKED' | 'INACTIVE'
  isChief: boolean
  factor: ModelFactor | null
  disabledUntil: number
  codes: CountedCodes
  /** When each session began. */
  sessions: number[]
  /** Grows with every password, factor and right: it makes tickets void. A status that is not ACTIVE makes those void that come meanwhile. */
  version: number
}

export interface ModelTicket {
  text: string
  account: ModelAccount
  step: Step
  passed: readonly Step[]
  version: number
  expiresAt: number
  codes: number
  isUsed: boolean
  /** Of the last set-up that it has shown. */
  secret: string | null
}

/** `token`, the step that is demanded next, or the reason of a refusal. */
export type Outcome = string

export const newAccount = (
  username: string,
  rest: Pick<ModelAccount, 'isChief' | 'mustChange' | 'password'>,
): ModelAccount => ({
  ...rest,
  id: `id-${username}`,
  username,
  passwordChangedAt: Number.POSITIVE_INFINITY,
  status: 'ACTIVE',
  factor: null,
  disabledUntil: 0,
  codes: noCodes(),
  sessions: [],
  version: 0,
})

export const liveSessions = ({ sessions }: ModelAccount, now: number): number =>
  sessions.filter(began => now - began < SESSION_LIFETIME).length

/** After a right password. */
export function afterPassword(account: ModelAccount, now: number): Outcome {
  if (account.status !== 'ACTIVE') return `ACCOUNT_${account.status}`
  return proceed(account, [], now)
}

function proceed(account: ModelAccount, passed: readonly Step[], now: number): Outcome {
  if (account.disabledUntil > now) return 'DISABLED'
  const step = stepOf(account, passed, now)
  if (step !== null) return step
  account.sessions.push(now)
  return 'token'
}

function stepOf(account: ModelAccount, passed: readonly Step[], now: number): Step | null {
  if (!passed.some(step => step !== 'password')) {
    if (account.factor !== null) return 'second-factor'
    if (account.isChief) return 'second-factor-setup'
  }
  const isOld = now - account.passwordChangedAt >= MAX_PASSWORD_AGE
  return !passed.includes('password') && (account.mustChange || isOld) ? 'password' : null
}

export const issued = (
  text: string,
  step: Step,
  account: ModelAccount,
  passed: readonly Step[],
  now: number,
): ModelTicket => ({
  ...{ text, step, account, passed, version: account.version, expiresAt: now + TICKET_LIFETIME },
  codes: 0,
  isUsed: false,
  secret: null,
})

/** Why a ticket opens none of these steps; `null` if it does. */
function closedBecause(ticket: ModelTicket | null, steps: readonly Step[], now: number): Outcome | null {
  if (ticket === null || ticket.isUsed || ticket.expiresAt <= now) return 'TICKET_INVALID'
  const { account, step, version } = ticket
  if (!steps.includes(step)) return 'TICKET_INVALID'
  if (account.status !== 'ACTIVE' || account.version !== version) ticket.isUsed = true
  if (ticket.isUsed || (step !== 'password' && ticket.codes >= CODES_OF_A_TICKET)) return 'TICKET_INVALID'
  return account.disabledUntil > now ? 'DISABLED' : null
}

export function enter(ticket: ModelTicket | null, code: string, now: number): Outcome {
  const closed = closedBecause(ticket, ['second-factor', 'second-factor-setup'], now)
  if (closed !== null) return closed
  const { account, step, secret, passed } = ticket!
  const isSetup = step === 'second-factor-setup'
  if (isSetup && secret === null) return 'SETUP_GONE'
  const factor = isSetup ? { secret: secret!, lastStep: 0, recoveryCodes: [] } : account.factor!
  ticket!.codes += 1
  if (!admitsCode(account, now)) return 'DISABLED'
  if (!accepts(factor, code, now)) return 'WRONG_CODE'
  account.codes = noCodes()
  ticket!.isUsed = true
  if (isSetup) {
    account.factor = factor
    account.version += 1
  }
  return proceed(account, [...passed, step], now)
}

/** Five attempts without a right code, in thirty days, and then one for each end of a lock, which takes twice as long each time. */
function admitsCode({ codes }: ModelAccount, now: number): boolean {
  if (codes.until <= now) Object.assign(codes, { count: 0, until: now + CODES_COUNTED_FOR })
  codes.count += 1
  if (codes.count < CODES_OF_AN_ACCOUNT) return true
  if (codes.lockedUntil > now) return false
  if (codes.locksUntil <= now) Object.assign(codes, { locks: 0, locksUntil: now + CODES_COUNTED_FOR })
  codes.lockedUntil = now + Math.min(CODE_LOCK * 2 ** codes.locks, LONGEST_CODE_LOCK)
  codes.locks += 1
  return true
}

/** A code of the app of one step before to one step after, once and never an older one; or a recovery code, once. */
function accepts(factor: ModelFactor, code: string, now: number): boolean {
  const present = Math.floor(now / 30_000)
  const step = [0, 1, -1].find(apart => codeAt(factor.secret, now, apart) === code)
  if (step !== undefined && present + step > factor.lastStep) {
    factor.lastStep = present + step
    return true
  }
  const isRecovery = factor.recoveryCodes.includes(code)
  factor.recoveryCodes = factor.recoveryCodes.filter(other => other !== code)
  return isRecovery
}

/** A new password, as it was decrypted; `null` for a text that cannot be. */
export function changePassword(ticket: ModelTicket | null, password: string | null, now: number): Outcome {
  const closed = closedBecause(ticket, ['password'], now)
  if (closed !== null) return closed
  const { account, passed } = ticket!
  if (password === null) return 'INVALID'
  const isFaulty = password.length < 10 || password === account.username || password === account.password
  if (isFaulty) return 'PASSWORD_NOT_ALLOWED'
  ticket!.isUsed = true
  Object.assign(account, { password, passwordChangedAt: now, mustChange: false, sessions: [] })
  account.version += 1
  return proceed(account, [...passed, 'password'], now)
}

export function setUp(ticket: ModelTicket | null, now: number): Outcome {
  return closedBecause(ticket, ['second-factor-setup'], now) ?? 'shown'
}
