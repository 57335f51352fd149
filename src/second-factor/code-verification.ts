import {
  type Account,
  type AccountSource,
  type AccountUpdates,
  findAgain,
  refuseUnwritable,
} from '../account/source.ts'
import { type Clock, DAY } from '../base/clock.ts'
import type { Logger } from '../base/log/log.ts'
import { Refusal } from '../base/refusal.ts'
import type { LoginType } from '../session/sides.ts'
import type { AttemptStore } from '../store/store.ts'
import { createFactorLockout } from './factor-lockout.ts'
import { hashOf, isAmong, readRecoveryCode } from './recovery-codes.ts'
import type { OpenFactor, Seal } from './sealed.ts'

/** What proved a second factor. */
export type Proof = 'code' | 'recovery-code'

export interface Accepted {
  account: Account
  proof: Proof
  /** Wrong codes since the last right one. */
  wrongCodes: number
}

/** The refusal of a code; `lockedFor`: the seconds for which it has locked the step. */
const wrongCode = (lockedFor: number | null): Refusal =>
  new Refusal('WRONG_CODE', lockedFor === null ? {} : { params: { lockedFor } })

/** The check of codes: each counts before it is checked, and is accepted once. */
export interface Codes {
  /** The second factor of an account. Refuses with `NO_SECOND_FACTOR`, or with `FACTOR_UNREADABLE`. */
  open(account: Account): OpenFactor
  /** Accepts a code of an app or a recovery code; returns which, and the account as it is after that. */
  accept(account: Account, text: string): Promise<Accepted>
  /** Accepts a code of a factor that is not stored yet. */
  acceptFirst(account: Account, factor: OpenFactor, text: string): Promise<void>
}

export interface CodesOptions {
  type: LoginType
  seal: Seal
  /** How long wrong codes lock the step, in milliseconds. */
  disable: number
  accounts: Pick<AccountSource, 'find' | 'findById' | 'updates'>
  attempts: Pick<AttemptStore, 'count' | 'read' | 'clear' | 'raise'>
  clock: Clock
  log: Pick<Logger, 'error'>
}

/** Longer than any code of a step is accepted, in milliseconds, also by gateways whose clocks differ. */
const STEP_REMEMBERED = 3_600_000

const SIX_DIGITS = /^\d{6}$/

const CANNOT_BE_OPENED =
  'the second factor of this account cannot be opened: login.second_factor.key, or login.sm2.private_key without it, is ' +
  'another one than at its set-up, or it belongs to another account; restore the key, or reset the second factor'

export function createCodes(options: CodesOptions): Codes {
  const { type, seal, attempts, clock, log, accounts } = options
  const lockout = createFactorLockout(options)

  function open({ id, secondFactor }: Account): OpenFactor {
    if (secondFactor === undefined) throw new Refusal('NO_SECOND_FACTOR')
    const factor = seal.open(id, secondFactor)
    if (factor !== null) return factor
    log.error({ type, login_id: id }, CANNOT_BE_OPENED)
    throw new Refusal('FACTOR_UNREADABLE')
  }

  /** Whether this is a code of the secret, of a later step than the last that was used. */
  async function acceptStep({ id }: Account, { name, secret }: OpenFactor, digits: string): Promise<boolean> {
    // Many gateways never load this library.
    const { stepOf } = await import('./totp.ts')
    const step = stepOf(digits, secret, clock.now())
    return step !== null && attempts.raise(`second-factor:${type}:${id}:${name}:step`, step, STEP_REMEMBERED)
  }

  return {
    open,
    async accept(account, text) {
      const factor = open(account)
      const lockedFor = await lockout.admit(account)
      const digits = digitsOf(text)
      const code = digits === null ? readRecoveryCode(text) : null
      const isAccepted =
        digits === null
          ? code !== null && (await useUp(options, account, factor, hashOf(code)))
          : await acceptStep(account, factor, digits)
      if (!isAccepted) throw wrongCode(lockedFor)
      const wrongCodes = await lockout.passed(account)
      if (code === null) return { account, proof: 'code', wrongCodes }
      const present = await findAgain(accounts, account)
      if (present === null) throw new Refusal('WRONG_CODE')
      return { account: present, proof: 'recovery-code', wrongCodes }
    },
    async acceptFirst(account, factor, text) {
      const lockedFor = await lockout.admit(account)
      const digits = digitsOf(text)
      if (digits === null || !(await acceptStep(account, factor, digits))) throw wrongCode(lockedFor)
      await lockout.passed(account)
    },
  }
}

/** Apps show a code in two groups, and Chinese input methods may write digits in full width. */
function digitsOf(text: string): string | null {
  const digits = text.normalize('NFKC').replace(/\s/g, '')
  return SIX_DIGITS.test(digits) ? digits : null
}

/**
 * For how long the store knows that a recovery code was used, in milliseconds: a source may show an older state of an
 * account, such as the replica of a database.
 */
const USED_CODE_REMEMBERED = 365 * DAY
/** How often a change is prepared again because the stored factor has changed meanwhile. */
const MAX_TRIES = 5

/**
 * Uses up a recovery code, by its hash: in the store, so that one of several processes wins, and then in the account. `false`
 * if it is unknown, or was used. If the account cannot be stored, the code is lost.
 */
async function useUp(options: CodesOptions, account: Account, factor: OpenFactor, hash: string): Promise<boolean> {
  const { type, attempts, accounts } = options
  if (accounts.updates?.can.has('second-factor') !== true || !isAmong(hash, factor.codes)) return false
  refuseUnwritable(accounts.updates)
  const used = `second-factor:${type}:${account.id}:${factor.name}:${hash}`
  if ((await attempts.count(used, USED_CODE_REMEMBERED)).count > 1) return false
  return withdraw(options, accounts.updates, account, factor.name, hash)
}

/** Stores the account without a recovery code. `false` if its second factor, or its recovery codes, are others meanwhile. */
async function withdraw(
  { seal, accounts }: CodesOptions,
  updates: AccountUpdates,
  account: Account,
  name: string,
  hash: string,
): Promise<boolean> {
  let present: Account | null = account
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const { secondFactor } = present ?? {}
    const factor = secondFactor === undefined ? null : seal.open(account.id, secondFactor)
    if (present === null || factor?.name !== name || !isAmong(hash, factor.codes)) return false
    const codes = factor.codes.filter(other => other !== hash)
    if (await updates.secondFactor(present, seal.seal(account.id, { ...factor, codes })).store()) return true
    present = await findAgain(accounts, account)
  }
  throw new Refusal('BUSY')
}
