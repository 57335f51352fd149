import { type Account, type AccountSource, refuseUnwritable } from '../../../account/source.ts'
import type { Clock } from '../../../base/clock.ts'
import { Refusal } from '../../../base/refusal.ts'
import type { SecondFactors } from '../../../second-factor/second-factors.ts'
import type { Step } from '../attempt.ts'

/** The step that a login needs next, after those that it has passed; `null` if it needs no more. */
export type Required = (account: Account, passed: readonly Step[]) => Step | null

export interface RequiredOptions {
  accounts: Pick<AccountSource, 'changes' | 'updates'>
  factors: Pick<SecondFactors, 'canSetUp' | 'isAsked' | 'isRequired'>
  /** Age of a password, in milliseconds, at which another one is demanded. */
  maxAge: number | 'off'
  clock: Clock
}

/**
 * The second factor comes before the password. An account whose source cannot store a new password signs in without that
 * step: its password is changed elsewhere. An account that has or must have a second factor, and whose source cannot store one,
 * is refused with `FACTOR_REQUIRED`: there is no step for it. Where the source stores both but cannot do so now, the login is
 * refused before the step, with `ACCOUNTS_UNWRITABLE`.
 */
export function createRequired({ accounts, factors, maxAge, clock }: RequiredOptions): Required {
  const canChangePassword = accounts.updates?.can.has('password') === true
  // The file notes the time of every change since it can. What other sources do not know is not judged.
  const unknown = accounts.changes === undefined ? Number.POSITIVE_INFINITY : 0

  const isTooOld = ({ passwordChangedAt = unknown }: Account): boolean =>
    maxAge !== 'off' && clock.now() - passwordChangedAt >= maxAge

  function factorStep(account: Account): Step | null {
    const isAsked = factors.isAsked(account)
    if (!isAsked && !factors.isRequired(account)) return null
    if (!factors.canSetUp) throw new Refusal('FACTOR_REQUIRED')
    if (isAsked) return 'second-factor'
    refuseUnwritable(accounts.updates)
    return 'second-factor-setup'
  }

  function passwordStep(account: Account): Step | null {
    const isDemanded = account.mustChangePassword === true || isTooOld(account)
    if (!canChangePassword || !isDemanded) return null
    refuseUnwritable(accounts.updates)
    return 'password'
  }

  const isFactor = (step: Step): boolean => step !== 'password'

  return (account, passed) =>
    (passed.some(isFactor) ? null : factorStep(account)) ?? (passed.includes('password') ? null : passwordStep(account))
}
