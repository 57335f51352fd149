import type { EventName } from '../event/event.ts'
import { invalid } from '../refusal.ts'
import type { LoginType } from '../session.ts'
import { type JournalEntry, type JournalStore, timeOf } from '../store/journal.ts'
import type { TimestampFormat } from '../timestamp.ts'
import type { Recorder } from './recorder.ts'

export interface JournalRecord {
  id: string
  time: string
  event: EventName
  type: LoginType
  login_id: string | null
  username: string | null
  nickname: string | null
  by: string | null
  reason: string | null
  address: string | null
  device_type: string | null
  device_id: string | null
  jti: string | null
  trace_id: string | null
}

/** What administrators ask of the journal; the times as they were typed. */
export interface JournalQuestion {
  size: number
  cursor?: string | undefined
  login_id?: string | undefined
  type?: LoginType | undefined
  event?: EventName | undefined
  since?: string | undefined
  until?: string | undefined
}

export interface JournalPagesOptions {
  store: JournalStore
  recorder: Pick<Recorder, 'flush'>
  timestamps: TimestampFormat
}

export type JournalPages = ReturnType<typeof createJournalPages>

/** The journal as administrators see it, the newest entries first. */
export function createJournalPages({ store, recorder, timestamps }: JournalPagesOptions) {
  const show = (entry: JournalEntry, { username, nickname }: Names): JournalRecord => ({
    id: entry.id,
    time: timestamps.write(timeOf(entry.id)),
    event: entry.event,
    type: entry.type,
    login_id: entry.login_id,
    username,
    nickname,
    by: entry.by ?? null,
    reason: entry.reason ?? null,
    address: entry.address ?? null,
    device_type: entry.device_type ?? null,
    device_id: entry.device_id || null,
    jti: entry.jti || null,
    trace_id: entry.trace_id ?? null,
  })

  return {
    /** A page. What this process has published is in it. */
    async page({ cursor, since, until, ...query }: JournalQuestion) {
      const from = timeIn('since', since, timestamps)
      const to = timeIn('until', until, timestamps)
      await recorder.flush()
      const { entries, next } = await store.page({
        ...query,
        before: cursor,
        since: from,
        // A second that is named counts as a whole, as it is shown.
        until: to === undefined ? undefined : to + 999,
      })
      const names = await namesOf(entries, store)
      return { records: entries.map(entry => show(entry, names(entry))), next }
    },
  }
}

function timeIn(field: string, text: string | undefined, timestamps: TimestampFormat): number | undefined {
  if (text === undefined || text === '') return undefined
  const time = timestamps.read(text)
  if (time === null) throw invalid(field, 'must be a time: YYYY-MM-DD HH:MM:SS or ISO 8601')
  return time
}

interface Names {
  username: string | null
  nickname: string | null
}

/** The names that an entry has, or else those of another entry of its user: on the page, or else of the newest login. */
async function namesOf(entries: readonly JournalEntry[], store: JournalStore): Promise<(entry: JournalEntry) => Names> {
  const key = ({ type, login_id }: JournalEntry): string => `${type} ${login_id}`
  const isNamed = ({ username, nickname }: JournalEntry): boolean => username !== undefined || nickname !== undefined
  const known = new Map<string, JournalEntry | null>(
    entries
      .filter(isNamed)
      .toReversed()
      .map(entry => [key(entry), entry]),
  )
  const nameless = entries.filter(entry => entry.login_id !== null && !known.has(key(entry)))
  await Promise.all(
    Array.from(new Map(nameless.map(entry => [key(entry), entry])), async ([user, { type, login_id }]) => {
      const newest = await store.page({ size: 1, type, event: 'login', login_id: login_id! })
      known.set(user, newest.entries[0] ?? null)
    }),
  )
  return entry => {
    const { username, nickname } = (isNamed(entry) ? entry : known.get(key(entry))) ?? {}
    return { username: username ?? null, nickname: nickname ?? null }
  }
}
