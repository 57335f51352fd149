import { existsSync, statSync } from 'node:fs'
import { openFinder } from '../account/open.ts'
import type { Account } from '../account/source.ts'
import type { FactorsOfSide } from '../account/stored-factors.ts'
import { systemClock } from '../base/clock.ts'
import { createLog } from '../base/log/log.ts'
import type { Configuration } from '../settings/load.ts'
import type { StoreForms } from '../store/forms.ts'
import { openStore } from '../store/open.ts'
import type { Store } from '../store/store.ts'
import { CommandError } from './terminal.ts'

type Place = Pick<Configuration['settings'], 'store' | 'data'>

/** Whether there is a store before a command opens one: an embedded one begins with the first start. */
export const hasStore = ({ store, data }: Place): boolean => store.kind !== 'embedded' || existsSync(data)

/**
 * The configured store, for one command, which says itself what went wrong. Fails with a `CommandError` for an embedded store of
 * another user of the system: what a command makes there might be closed to the gateway.
 */
export async function openedStore({ store, data }: Place, forms?: StoreForms): Promise<Store> {
  if (store.kind === 'embedded' && isOfAnotherUser(data))
    throw new CommandError(`${data} belongs to another user: run this as that user`)
  return openStore(store, data, systemClock, createLog('silent'), undefined, false, forms)
}

/** The same, for a command that makes nothing in a store: also fails where it is missing. */
export async function existingStore(place: Place, forms?: StoreForms): Promise<Store> {
  if (!hasStore(place)) throw new CommandError(`there is no store in ${place.data}`)
  return openedStore(place, forms)
}

function isOfAnotherUser(data: string): boolean {
  const folder = statSync(data, { throwIfNoEntry: false })
  // Not every system has numbers of users.
  return folder !== undefined && process.getuid !== undefined && folder.uid !== process.getuid()
}

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
