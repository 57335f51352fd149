import { setImmediate as otherWork } from 'node:timers/promises'
import { invalid } from '../base/refusal.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import type { EventName } from '../event/event.ts'
import type { LoginType } from '../session/sides.ts'
import type { JournalEntry, JournalStore } from '../store/journal.ts'
import { timeOf } from '../store/journal-id.ts'
import { csvOf } from './csv.ts'
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
  by_type: LoginType | null
  reason: string | null
  address: string | null
  device_type: string | null
  device_id: string | null
  jti: string | null
  key: string | null
  provider: string | null
  trace_id: string | null
}

/** What administrators ask of the journal; the times as they were typed. */
export interface JournalQuestion {
  size: number
  cursor?: string | undefined
  login_id?: string | undefined
  username?: string | undefined
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

/** Records of an export at most: some 30 MB. */
export const EXPORTED_AT_MOST = 100_000
/** Records that an export reads at once, as on the largest page. */
const READ_AT_ONCE = 100

/** The columns of an export. The id is the last: people read the others. */
const COLUMNS = [
  'time',
  'event',
  'type',
  'login_id',
  'username',
  'nickname',
  'by',
  'by_type',
  'reason',
  'address',
  'device_type',
  'device_id',
  'jti',
  'key',
  'provider',
  'trace_id',
  'id',
] as const satisfies readonly (keyof JournalRecord)[]

export type JournalPages = ReturnType<typeof createJournalPages>

/** The journal as administrators see it, the newest entries first. */
export function createJournalPages({ store, recorder, timestamps }: JournalPagesOptions) {
  /** A page. What this process has published is in it. */
  async function page({ cursor, since, until, username, ...query }: JournalQuestion) {
    const from = timeIn('since', since, timestamps.read)
    const to = timeIn('until', until, timestamps.readLast)
    await recorder.flush()
    const { entries, next } = await store.page({
      ...query,
      username: username?.trim() || undefined,
      before: cursor,
      since: from,
      // A second that is named counts as a whole, as it is shown.
      until: to === undefined ? undefined : to + 999,
    })
    const names = await namesOf(entries, store)
    return { records: entries.map(entry => shown(entry, names(entry), timestamps)), next }
  }

  /** Batches of records, as many as an export may have. The first is given. */
  async function* batches(question: JournalQuestion, first: Awaited<ReturnType<typeof page>>) {
    let { records, next } = first
    yield records
    for (let left = question.size - READ_AT_ONCE; next !== null && left > 0; left -= READ_AT_ONCE) {
      // A long export must not hold up the requests of others.
      await otherWork()
      ;({ records, next } = await page({ ...question, size: Math.min(left, READ_AT_ONCE), cursor: next }))
      yield records
    }
  }

  return {
    page,
    /**
     * The newest `size` records of a question, as CSV in parts that are read one after another. The first are read at once, so
     * that an invalid question and a failing store are refusals; a later failure ends the text without its rest.
     */
    async export(question: JournalQuestion): Promise<AsyncIterable<string>> {
      const first = await page({ ...question, size: Math.min(question.size, READ_AT_ONCE) })
      return csvOf(COLUMNS, batches(question, first))
    },
  }
}

const shown = (entry: JournalEntry, { username, nickname }: Names, timestamps: TimestampFormat): JournalRecord => ({
  id: entry.id,
  time: timestamps.write(timeOf(entry.id)),
  event: entry.event,
  type: entry.type,
  login_id: entry.login_id,
  username,
  nickname,
  by: entry.by ?? null,
  by_type: entry.by_type ?? null,
  reason: entry.reason ?? null,
  address: entry.address ?? null,
  device_type: entry.device_type ?? null,
  device_id: entry.device_id || null,
  jti: entry.jti || null,
  key: entry.key ?? null,
  provider: entry.provider ?? null,
  trace_id: entry.trace_id ?? null,
})

function timeIn(field: string, text: string | undefined, read: TimestampFormat['read']): number | undefined {
  if (text === undefined || text === '') return undefined
  const time = read(text)
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
