import { randomBytes } from 'node:crypto'
import { EVENT_NAMES, type EventName, type SessionEvent } from '../event/event.ts'
import { LOGIN_TYPES, type LoginType, SIDES } from '../session.ts'

/*
 * What happened, for those who ask later. An entry never changes. It is found by its id, which sorts by time, and by the
 * lists that it is in: of its side and event, and, if it is about a login id, of its side, event and login id. Each filter is
 * a choice of whole lists, so a page reads no entry that it does not return.
 */

/** The texts of an entry, in the order in which they are stored. New ones go to the end. */
const TEXTS = [
  'username',
  'nickname',
  'by',
  'reason',
  'address',
  'device_type',
  'device_id',
  'jti',
  'trace_id',
] as const

/** What of an event is kept; `login_id` is `null` for a name that no account has. */
export type JournalEntry = Pick<SessionEvent, 'event' | 'type' | 'login_id'> &
  Partial<Pick<SessionEvent, (typeof TEXTS)[number]>> & {
    /** `createEntryId` makes it. */
    id: string
  }

export interface JournalQuery {
  size: number
  /** The id of an entry: the page begins with the next older one. */
  before?: string | undefined
  login_id?: string | undefined
  type?: LoginType | undefined
  event?: EventName | undefined
  /** In milliseconds, both included. */
  since?: number | undefined
  until?: number | undefined
}

export interface JournalPage {
  /** The newest first. Fewer than `size` where entries were removed while the page was read. */
  entries: JournalEntry[]
  /** Continues the query, as `before`; `null` if there are no older entries. */
  next: string | null
}

/** Entries that one step removes at most: others wait for it, some milliseconds. */
export const TRIMMED_AT_ONCE = 100

export interface JournalStore {
  /**
   * Keeps entries, each of which is there for every process when this resolves. Whatever is stored for them ends by itself at
   * `expiresAt`, unless later entries are stored with it. Entries that are kept already stay as they are, so a call that
   * failed can be repeated: it may have kept some of them.
   */
  append(entries: readonly JournalEntry[], expiresAt: number): Promise<void>

  /**
   * Removes the oldest entries: those from before a timestamp, and those beyond the newest `most`. Removes
   * `TRIMMED_AT_ONCE` at most and returns how many, so that nothing waits long; repeat it until it returns 0.
   */
  trim(before: number, most: number): Promise<number>

  /** Some entries, the newest first. Takes as long for a few entries as for a million. */
  page(query: JournalQuery): Promise<JournalPage>
}

/** An entry as it is stored, without its id: short, and of the same form in every version. */
export function writeEntry(entry: JournalEntry): string {
  const texts = TEXTS.map(name => entry[name] ?? null)
  while (texts.at(-1) === null) texts.pop()
  return JSON.stringify([entry.event, SIDES[entry.type].letter, entry.login_id, ...texts])
}

/** `null` for a text that is not an entry of a version that this one knows. */
export function readEntry(id: string, text: string): JournalEntry | null {
  const [event, letter, loginId, ...texts] = partsOf(text)
  const type = LOGIN_TYPES.find(known => SIDES[known].letter === letter)
  if (type === undefined || !EVENT_NAMES.includes(event as EventName)) return null
  const entry: JournalEntry = { id, event: event as EventName, type, login_id: loginId ?? null }
  for (const [i, name] of TEXTS.entries()) {
    const value = texts[i]
    if (value !== undefined && value !== null) entry[name] = value
  }
  return entry
}

function partsOf(text: string): (string | null)[] {
  try {
    const parts: unknown = JSON.parse(text)
    return Array.isArray(parts) ? parts.map(part => (typeof part === 'string' ? part : null)) : []
  } catch {
    return []
  }
}

/** Of 64 digits whose order is that of their bytes. */
const DIGITS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'
/** An id: eight digits of the time in milliseconds, three that number the entries of a millisecond, six random ones. */
const TIME_DIGITS = 8
const NUMBER_DIGITS = 3
const RANDOM_DIGITS = 6
export const ENTRY_ID_LENGTH = TIME_DIGITS + NUMBER_DIGITS + RANDOM_DIGITS
export const ENTRY_ID_PATTERN = '^[-0-9A-Z_a-z]{17}$'

function digitsOf(value: number, length: number): string {
  let digits = ''
  for (let rest = value; digits.length < length; rest = Math.floor(rest / DIGITS.length)) {
    digits = DIGITS[rest % DIGITS.length]! + digits
  }
  return digits
}

/** Beyond every time of an entry. */
const END_OF_TIME = DIGITS.length ** TIME_DIGITS - 1

/** What the ids of entries of a millisecond begin with: earlier ids are smaller, those of the millisecond are not. */
const idsFrom = (timestamp: number): string =>
  digitsOf(Math.min(Math.max(Math.floor(timestamp), 0), END_OF_TIME), TIME_DIGITS)

export const timeOf = (id: string): number =>
  Array.from(id.slice(0, TIME_DIGITS)).reduce((sum, digit) => sum * DIGITS.length + DIGITS.indexOf(digit), 0)

/** Makes ids that sort by time. Those of one process sort as they were made, also within a millisecond. */
export function createEntryId(): (timestamp: number) => string {
  let last = 0
  let number = 0
  return timestamp => {
    number = timestamp === last ? (number + 1) % DIGITS.length ** NUMBER_DIGITS : 0
    last = timestamp
    const random = Array.from(randomBytes(RANDOM_DIGITS), byte => DIGITS[byte % DIGITS.length]).join('')
    return idsFrom(timestamp) + digitsOf(number, NUMBER_DIGITS) + random
  }
}

/** The names of the lists that an entry is in, by its text: of an entry of a later version, too. */
export function listsOf(text: string): string[] {
  const [event, letter, loginId] = partsOf(text)
  const name = [letter ?? '', event ?? '']
  return [name, ...(typeof loginId === 'string' ? [[...name, loginId]] : [])].map(parts => parts.join(':'))
}

/** The lists whose entries a query asks for; `null` for all entries. */
export function listsFor({ type, event, login_id }: JournalQuery): string[] | null {
  if (type === undefined && event === undefined && login_id === undefined) return null
  const types = type === undefined ? LOGIN_TYPES : [type]
  const events = event === undefined ? EVENT_NAMES : [event]
  const end = login_id === undefined ? '' : `:${login_id}`
  return types.flatMap(side => events.map(name => `${SIDES[side].letter}:${name}${end}`))
}

/** The ids that a query is about: from `from` on, and before `to`. */
export const boundsOf = ({ before, since, until }: JournalQuery): { from: string; to: string } => {
  const to = idsFrom(until === undefined ? END_OF_TIME : until + 1)
  return { from: idsFrom(since ?? 0), to: before !== undefined && before < to ? before : to }
}

/** The newest ids of several lists: up to `size`, and the last of them as `next` if there are more. */
export function newestIds(lists: readonly (readonly string[])[], size: number): { ids: string[]; next: string | null } {
  const all = lists.length === 1 ? lists[0]! : lists.flat().sort().reverse()
  const ids = all.slice(0, size)
  return { ids, next: all.length > size ? (ids.at(-1) ?? null) : null }
}
