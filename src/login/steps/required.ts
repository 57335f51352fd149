import type { Account, AccountSource } from '../../account/accounts.ts'
import type { Clock } from '../../clock.ts'
import type { Step } from '../attempt.ts'

/** The step that a login needs next, after those that it has passed; `null` if it needs no more. */
export type Required = (account: Account, passed: readonly Step[]) => Step | null

export interface RequiredOptions {
  accounts: Pick<AccountSource, 'changes' | 'updates'>
  /** Age of a password, in milliseconds, at which another one is demanded. */
  maxAge: number | 'off'
  clock: Clock
}

/**
 * An account whose source cannot store a new password signs in without this step: its password is changed elsewhere.
 */
export function createRequired({ accounts, maxAge, clock }: RequiredOptions): Required {
  const canChangePassword = accounts.updates?.can.has('password') === true
  // The file notes the time of every change since it can. What other sources do not know is not judged.
  const unknown = accounts.changes === undefined ? Number.POSITIVE_INFINITY : 0

  const isTooOld = ({ passwordChangedAt = unknown }: Account): boolean =>
    maxAge !== 'off' && clock.now() - passwordChangedAt >= maxAge

  return (account, passed) => {
    const demandsPassword = account.mustChangePassword === true || isTooOld(account)
    return canChangePassword && demandsPassword && !passed.includes('password') ? 'password' : null
  }
}
