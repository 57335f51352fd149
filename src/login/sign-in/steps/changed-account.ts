import { type Account, type AccountSource, findActive, type PreparedUpdate } from '../../../account/source.ts'
import type { Attempt } from '../attempt.ts'
import { ticketInvalid } from './tickets.ts'

/** The account as an update has left it. Refuses with `TICKET_INVALID` if it has changed again. */
export async function changedAccount(
  accounts: Pick<AccountSource, 'find' | 'findById'>,
  changed: Account,
  { version }: PreparedUpdate,
  attempt: Attempt,
): Promise<Account> {
  const account = await findActive(accounts, changed)
  if (account !== null && (version === undefined || account.version === version)) return account
  throw ticketInvalid(attempt, 'changed meanwhile')
}
