import { createHash } from 'node:crypto'
import { EVENT_NAMES, type EventName, isUnproven, type SessionEvent } from '../event/event.ts'
import { LOGIN_TYPES, type LoginType, SIDES } from '../session/sides.ts'
import { END_OF_TIME, idsFrom } from './journal-id.ts'
import { fold } from './names.ts'

/*
 * What happened, for those who ask later. An entry never changes. It is found by its id, which sorts by time, and by the
 * lists that it is in: of its side and event, and, if it is about a login id, of its side, event and login id. Each filter is
 * a choice of whole lists, so a page reads no entry that it does not return. A list of each name has the login ids that had the
 * name in an entry: a search by name is one by these ids, so it also finds their entries without a name.
 *
 * Clients that have proven nothing cause any number of entries. So the journal has three parts, each with its own number of
 * entries, and a page has entries of all parts.
 */

export const PARTS = [
  /** What users and administrators have done, and the gateway for them. */
  'trail',
  /** Failed logins of accounts, and their locks. */
  'failures',
  /** Failed logins with names that no account has, and of clients that have named none. */
  'anonymous',
] as const
export type Part = (typeof PARTS)[number]

export const partOf = (entry: Pick<JournalEntry, 'event' | 'login_id' | 'by' | 'reason'>): Part =>
  !isUnproven(entry) ? 'trail' : entry.login_id === null ? 'anonymous' : 'failures'

/** The texts of an entry, in the order in which they are stored. New ones go to the end. Earlier entries lack the last ones. */
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
  'by_type',
  'key',
  'provider',
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
  /** A name that the user has in an entry, in any case. Of more than `NAMED_AT_MOST` users of a side, some are found. */
  username?: string | undefined
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
   * Removes the oldest entries of a part: those from before a timestamp, and those beyond the newest `most`. Removes
   * `TRIMMED_AT_ONCE` at most and returns how many, so that nothing waits long; repeat it until it returns 0.
   */
  trim(before: number, most: number, part: Part): Promise<number>

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
    const value = texts[i] ?? null
    if (name !== 'by_type' && value !== null) entry[name] = value
  }
  const side = LOGIN_TYPES.find(known => known === texts[TEXTS.indexOf('by_type')])
  if (side !== undefined) entry.by_type = side
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

/** Login ids that share a name, of one side. More are the accounts of a backend with the same name for all. */
export const NAMED_AT_MOST = 10

/** No login id and no id of an entry holds it, and all characters of both sort before it. */
const END_OF_LOGIN_ID = '~'

/** An entry in a list: its id, in the list of a name behind its login id. */
export interface Listed {
  list: string
  member: string
}

/** Where an entry is stored: its part, its id, and its text. */
export interface Stored {
  part: Part
  id: string
  text: string
}

/** Before the name of each list of a part but of the trail, so that an entry is found by its id in its part. */
const MARKS: Readonly<Record<Part, string>> = { trail: '', failures: 'f~', anonymous: 'a~' }

/** The lists that an entry is in, by its text: of an entry of a later version, too. */
export function listsOf({ part, id, text }: Stored): Listed[] {
  const [event, letter, loginId, username] = partsOf(text)
  const name = `${MARKS[part]}${letter ?? ''}:${event ?? ''}`
  if (typeof loginId !== 'string') return [{ list: name, member: id }]
  const lists = [name, `${name}:${loginId}`].map(list => ({ list, member: id }))
  if (typeof username !== 'string') return lists
  return [...lists, { list: listOfName(letter ?? '', username), member: loginId + END_OF_LOGIN_ID + id }]
}

/** Of bounded length, whatever the name is. */
const listOfName = (letter: string, username: string): string =>
  `${END_OF_LOGIN_ID}${letter}:${createHash('sha256').update(fold(username)).digest('base64url').slice(0, 16)}`

/** A user whom a query is about. */
interface User {
  type: LoginType
  /** `undefined` for every user. */
  login_id: string | undefined
}

const typesOf = ({ type }: JournalQuery): readonly LoginType[] => (type === undefined ? LOGIN_TYPES : [type])

/** The lists of the name that a query has. */
export const nameListsFor = (query: JournalQuery): { type: LoginType; list: string }[] =>
  query.username === undefined
    ? []
    : typesOf(query).map(type => ({ type, list: listOfName(SIDES[type].letter, query.username!) }))

/** The login id of a member of a list of names. */
export const loginIdOf = (member: string): string => member.slice(0, member.indexOf(END_OF_LOGIN_ID))

/** Sorts behind all members of a login id in a list of names, and before those of the next. */
export const behind = (loginId: string): string => `${loginId}${END_OF_LOGIN_ID}\u007f`

/** The parts in which a list of this event, of one user or of all, can have entries. */
const partsWith = (event: EventName, { login_id }: User): readonly Part[] =>
  event !== 'login-failed' && event !== 'disable' ? ['trail'] : login_id === undefined ? PARTS : ['trail', 'failures']

/** Where a page finds ids: in a list of a part, or among all of its entries. */
export interface Source {
  part: Part
  list: string | null
}

/** Where the entries of a query are. `named`: the users that have the name of the query. */
export function sourcesOf(query: JournalQuery, named: readonly User[]): Source[] {
  const { type, event, login_id, username } = query
  if (type === undefined && event === undefined && login_id === undefined && username === undefined) {
    return PARTS.map(part => ({ part, list: null }))
  }
  const events = event === undefined ? EVENT_NAMES : [event]
  const users = username === undefined ? typesOf(query).map(side => ({ type: side, login_id })) : named
  return users
    .filter(user => login_id === undefined || user.login_id === login_id)
    .flatMap(user => {
      const end = user.login_id === undefined ? '' : `:${user.login_id}`
      return events.flatMap(name =>
        partsWith(name, user).map(part => ({ part, list: `${MARKS[part]}${SIDES[user.type].letter}:${name}${end}` })),
      )
    })
}

/** The ids that a query is about: from `from` on, and before `to`. */
export const boundsOf = ({ before, since, until }: JournalQuery): { from: string; to: string } => {
  const to = idsFrom(until === undefined ? END_OF_TIME : until + 1)
  return { from: idsFrom(since ?? 0), to: before !== undefined && before < to ? before : to }
}

/** The newest of what several sources have: up to `size`, and the id of the last as `next` if there are more. */
export function newestOf<T extends { id: string }>(
  lists: readonly (readonly T[])[],
  size: number,
): { found: T[]; next: string | null } {
  const all = lists.length === 1 ? lists[0]! : lists.flat().sort((a, b) => (a.id < b.id ? 1 : -1))
  const found = all.slice(0, size)
  return { found, next: all.length > size ? (found.at(-1)?.id ?? null) : null }
}
