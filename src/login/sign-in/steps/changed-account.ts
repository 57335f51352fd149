import type { Account, AccountSource, PreparedUpdate } from '../../../account/source.ts'
import type { Attempt } from '../attempt.ts'
import { ticketInvalid } from './tickets.ts'

/** The account as an update has left it. Refuses with `TICKET_INVALID` if it has changed again. */
export async function changedAccount(
  accounts: Pick<AccountSource, 'find'>,
  { id, username }: Account,
  { version }: PreparedUpdate,
  attempt: Attempt,
): Promise<Account> {
  const account = await accounts.find(username)
  const isExpected = account?.id === id && account.status === 'ACTIVE'
  if (isExpected && (version === undefined || account.version === version)) return account
  throw ticketInvalid(attempt, 'changed meanwhile')
}
