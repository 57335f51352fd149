import type { Account, AccountSource } from '../../account/source.ts'
import { createStoredFactors, type FactorsOfSide } from '../../account/stored-factors.ts'
import type { Clock } from '../../base/clock.ts'
import type { TicketStore } from '../../store/store.ts'
import { digestOf } from '../identity/digest.ts'
import { TICKET_LIFETIME } from '../sign-in/steps/tickets.ts'

/**
 * Accounts that consist of claims, for the steps of a login: a source that knows them for as long as a ticket lives. A provider may
 * give several of its users one name.
 */
export interface ClaimedAccounts extends Pick<AccountSource, 'find' | 'findById' | 'updates' | 'verify' | 'close'> {
  /** Keeps an account from now on, and answers it with its second factor. */
  keep(account: Account): Promise<Account>
}

export interface ClaimedAccountsOptions {
  /** Where their second factors are. */
  factors: FactorsOfSide
  tickets: TicketStore
  clock: Clock
}

export function createClaimedAccounts({ factors, tickets, clock }: ClaimedAccountsOptions): ClaimedAccounts {
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
      await tickets.put(type, idOf(account.id), JSON.stringify(account), clock.now() + 2 * TICKET_LIFETIME)
      return completed({ ...account })
    },
    find: async () => null,
    async findById(id) {
      const text = await tickets.read(type, idOf(id))
      return text === null ? null : completed(JSON.parse(text) as Account)
    },
    verify: async () => false,
    close: async () => undefined,
  }
}

const idOf = (id: string): string => `claimed:${digestOf(id)}`
