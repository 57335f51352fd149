import type { Account } from '../account/source.ts'
import { hasSecondFactor, resetSecondFactor } from '../account/stored-factors.ts'
import { systemClock } from '../base/clock.ts'
import { plain } from '../base/log/terminal-line.ts'
import { BY_COMMAND_LINE, type SessionEvent } from '../event/event.ts'
import { createKeys } from '../key/keys.ts'
import type { LoginType } from '../session/sides.ts'
import type { Configuration } from '../settings/load.ts'
import { claimingProvider, keysOf } from '../settings/served.ts'
import { eventNames } from '../side/event-names.ts'
import { createConfirmed } from '../side/replicated-events.ts'
import { createNotes } from '../side/side.ts'
import type { Store } from '../store/store.ts'
import { keepEvents } from './journal.ts'
import { accountNamed, existingStore, hasStore, openedStore } from './open-store.ts'
import { CommandError, say, type Terminal } from './terminal.ts'

/** A side whose store has second factors. */
interface Place {
  settings: Configuration['settings']
  type: LoginType
}

/** As far as a reset needs it. */
type Owner = Pick<Account, 'id' | 'username' | 'extra'>

type Publish = (event: SessionEvent) => void

/**
 * The account whose second factor is in the store, by the name of the command; `null` where the accounts file has it. Accounts of a
 * directory have a username. Where the claims of a provider are the account, its login id is all that is known here.
 */
export async function ownerOfStoredFactor(
  { settings, type, source }: Place & { source: Configuration['settings']['accounts'] },
  name: string,
): Promise<Owner | null> {
  if (claimingProvider(settings, type, name) !== undefined) return { id: name, username: name, extra: {} }
  return source.kind === 'ldap' ? accountNamed(source, name) : null
}

/**
 * Removes the second factor of an account, and then ends its sessions and keys; repeated after a failure, it goes on there. A login
 * that began before is stopped by the gateway that serves it: the account has another version.
 */
export async function resetStoredFactor(
  { settings, type }: Place,
  account: Owner,
  { output, errors }: Pick<Terminal, 'output' | 'errors'>,
): Promise<void> {
  const name = plain(account.username)
  const store = await existingStore(settings)
  const events: SessionEvent[] = []
  const end = async (): Promise<void> => {
    say(output, `removed the second factor of ${name}`)
    const ended = await endAll({ settings, type }, store, account, event => void events.push(event))
    say(output, `ended its sessions: ${ended.sessions}, keys: ${ended.keys}`)
  }
  try {
    const factors = { type, place: store.factors }
    if (!(await resetSecondFactor(factors, account.id, systemClock.now(), end)))
      throw new CommandError(`${name} has no second factor`)
  } finally {
    const fault = await keepEvents(settings, store, events)
    if (fault !== null) say(errors, `dualgate: this is done, but is not in the journal: ${fault}`)
    await store.close()
  }
}

/** Ends the sessions and keys of an account whose second factor was reset, and answers how many. */
async function endAll(
  { settings, type }: Place,
  store: Store,
  { id: login_id, username, extra }: Owner,
  publish: Publish,
): Promise<{ sessions: number; keys: number }> {
  const by = BY_COMMAND_LINE
  const confirmed = createConfirmed(type, publish, store.isReplicated)
  await confirmed({ event: 'second-factor-reset', login_id, ...eventNames({ ...extra, username }), by })
  const noteOf = createNotes({ tellEnd: settings.sessions.tell_end, clock: systemClock })
  const sessions = await store.sessions.removeAll(type, login_id, noteOf('account-changed'))
  if (sessions > 0) await confirmed({ event: 'kickout', login_id, ended: sessions, reason: 'account-changed', by })
  const keysOfSide = keysOf(settings, type)
  let keys = 0
  if (keysOfSide !== 'off') {
    const counted: Publish = event => {
      keys++
      publish(event)
    }
    const { credentials, attempts } = store
    const options = { type, credentials, attempts, settings: keysOfSide, clock: systemClock, publish: counted }
    await createKeys(options).endOthers(login_id, null, { by })
  }
  return { sessions, keys }
}

/** Whether an account of a directory has a second factor; `null` if the store cannot tell. */
export async function storedFactor({ settings, type }: Place, loginId: string): Promise<boolean | null> {
  if (!hasStore(settings)) return null
  try {
    const store = await openedStore(settings)
    try {
      return await hasSecondFactor({ type, place: store.factors }, loginId)
    } finally {
      await store.close()
    }
  } catch {
    // What the directory says is shown all the same.
    return null
  }
}
