import { type AccountKeys, keptKeys } from '../../../account/kept-keys.ts'
import type { PasswordPolicy } from '../../../account/password-policy.ts'
import { type Account, type AccountSource, type AccountUpdates, refuseUnwritable } from '../../../account/source.ts'
import type { Clock } from '../../../base/clock.ts'
import { invalid } from '../../../base/refusal.ts'
import type { Publish } from '../../../event/event.ts'
import type { Side } from '../../../side/side.ts'
import type { Sm2 } from '../../sm2/sm2.ts'
import type { Attempt } from '../attempt.ts'
import { changedAccount } from './changed-account.ts'
import type { OpenTicket, Tickets } from './tickets.ts'

export interface PasswordStepOptions {
  side: Pick<Side, 'type' | 'kickoutWhere'>
  accounts: Pick<AccountSource, 'find' | 'findById' | 'verify'>
  updates: AccountUpdates
  tickets: Tickets
  sm2: Sm2
  policy: PasswordPolicy
  /** `null` where users have none. */
  keys: Pick<AccountKeys, 'keptThrough'> | null
  clock: Clock
  publish: Publish
}

/** Sets the new password of a ticket's account, and ends its older sessions. Returns the account as it is then. */
export type PasswordStep = (ticket: OpenTicket, newPassword: string, attempt: Attempt) => Promise<Account>

export function createPasswordStep(options: PasswordStepOptions): PasswordStep {
  const { side, accounts, updates, tickets, sm2, policy, keys, clock, publish } = options
  return async (ticket, newPassword, attempt) => {
    refuseUnwritable(updates)
    const password = await sm2.decrypt(newPassword)
    if (password === null) throw invalid('new_password', 'must be encrypted with the public key')
    const { account } = ticket
    const isInUse = (text: string): Promise<boolean> => accounts.verify(account, text)
    await policy.check({ username: account.username, password, isInUse })
    const prepared = await updates.password(account, { password, changedAt: clock.now(), mustChange: false })
    const update = keptKeys(keys, account, prepared)
    await tickets.use(ticket, attempt, update.store)
    const origin = { by: account.id, by_type: side.type, ...attempt.origin }
    publish({ event: 'password-changed', type: side.type, login_id: account.id, ...attempt.names, ...origin })
    await side.kickoutWhere(account.id, () => 'password-changed', origin)
    return changedAccount(accounts, account, update, attempt)
  }
}
