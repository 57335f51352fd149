import type { Account, AccountSource } from '../../account/source.ts'
import { createStoredFactors, type FactorsOfSide } from '../../account/stored-factors.ts'
import type { Clock } from '../../base/clock.ts'
import type { TicketStore } from '../../store/store.ts'
import { digestOf } from '../identity/digest.ts'
import { TICKET_LIFETIME } from '../sign-in/steps/tickets.ts'

/** Accounts that consist of claims, for the steps of a login: a source that knows them for as long as a ticket lives. */
export interface ClaimedAccounts extends Pick<AccountSource, 'find' | 'updates' | 'verify' | 'close'> {
  /** Keeps an account from now on, and answers it with its second factor. */
  keep(account: Account): Promise<Account>
}

export interface ClaimedAccountsOptions {
  /** The name of the provider: names of accounts are unique with it alone. */
  provider: string
  /** Where their second factors are. */
  factors: FactorsOfSide
  tickets: TicketStore
  clock: Clock
}

export function createClaimedAccounts({ provider, factors, tickets, clock }: ClaimedAccountsOptions): ClaimedAccounts {
  const { type } = factors
  const stored = createStoredFactors(factors)

  async function completed(account: Account): Promise<Account> {
    // There is no password that could change.
    await stored.complete(account, '')
    return account
  }

  return {
    updates: stored.updates,
    async keep(account) {
      await tickets.put(
        type,
        idOf(provider, account.username),
        JSON.stringify(account),
        clock.now() + 2 * TICKET_LIFETIME,
      )
      return completed({ ...account })
    },
    async find(username) {
      const text = await tickets.read(type, idOf(provider, username))
      return text === null ? null : completed(JSON.parse(text) as Account)
    },
    verify: async () => false,
    close: async () => undefined,
  }
}

const idOf = (provider: string, username: string): string => `claimed:${digestOf(provider, username)}`
