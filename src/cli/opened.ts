import { openFinder } from '../account/open.ts'
import type { Account } from '../account/source.ts'
import type { FactorsOfSide } from '../account/stored-factors.ts'
import { systemClock } from '../base/clock.ts'
import { createLog } from '../base/log/log.ts'
import type { Configuration } from '../settings/load.ts'
import { openStore } from '../store/open.ts'
import type { Store } from '../store/store.ts'
import { CommandError } from './terminal.ts'

/** The configured store, for one command, which says itself what went wrong. */
export const openedStore = ({ store, data }: Pick<Configuration['settings'], 'store' | 'data'>): Promise<Store> =>
  openStore(store, data, systemClock, createLog('silent'))

/** The account with a name, of any source. Fails with a `CommandError` without one. */
export async function accountNamed(
  settings: Parameters<typeof openFinder>[0],
  username: string,
  factors?: FactorsOfSide,
): Promise<Account> {
  const source = await openFinder(settings, systemClock, createLog('silent'), factors)
  try {
    const account = await source.find(username)
    if (account === null) throw new CommandError(`there is no account ${username}`)
    return account
  } finally {
    await source.close()
  }
}
