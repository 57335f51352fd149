import { systemClock } from '../base/clock.ts'
import { faultText } from '../base/fault-text.ts'
import { BY_COMMAND_LINE, type EventName, type SessionEvent } from '../event/event.ts'
import type { LoginType } from '../session/sides.ts'
import type { Configuration } from '../settings/load.ts'
import { eventNames } from '../side/event-names.ts'
import { createEntryId } from '../store/journal-id.ts'
import type { Store } from '../store/store.ts'
import { hasStore, openedStore } from './open-store.ts'

/** Keeps events of the command line in the journal of an open store; returns why it cannot, or `null`. */
export async function keepEvents(
  { journal }: Pick<Configuration['settings'], 'journal'>,
  store: Pick<Store, 'journal'>,
  events: readonly SessionEvent[],
): Promise<string | null> {
  if (journal === 'off' || events.length === 0) return null
  const now = systemClock.now()
  const idOf = createEntryId()
  try {
    await store.journal.append(
      events.map(event => ({ ...event, id: idOf(now) })),
      now + journal.keep,
    )
    return null
  } catch (fault) {
    return faultText(fault)
  }
}

/** What a command did to an account. */
export interface Happened {
  event: EventName
  account: { id: string; username: string; nickname: string }
}

/** Keeps in the journal what a command did; returns why it cannot, or `null`. The command is done in any case. */
export async function keepInJournal(
  { journal, store, data }: Configuration['settings'],
  type: LoginType,
  { event, account }: Happened,
): Promise<string | null> {
  if (journal === 'off' || !hasStore({ store, data })) return null
  try {
    const opened = await openedStore({ store, data })
    try {
      const entry = { event, type, login_id: account.id, ...eventNames({ ...account }), by: BY_COMMAND_LINE }
      return await keepEvents({ journal }, opened, [entry])
    } finally {
      await opened.close()
    }
  } catch (fault) {
    return faultText(fault)
  }
}
