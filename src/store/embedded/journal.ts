import { Unavailable } from '../../base/refusal.ts'
import {
  behind,
  boundsOf,
  type JournalEntry,
  type JournalPage,
  type JournalQuery,
  type JournalStore,
  listsOf,
  loginIdOf,
  NAMED_AT_MOST,
  nameListsFor,
  newestOf,
  PARTS,
  type Part,
  partOf,
  readEntry,
  type Stored,
  sourcesOf,
  TRIMMED_AT_ONCE,
  writeEntry,
} from '../journal.ts'
import { timeOf } from '../journal-id.ts'
import { EmbeddedFile, type Rows } from './file/lmdb-file.ts'

const FILE_NAME = 'journal.mdb'

/*
 * A file of its own: its changes hold up no login, and the sessions stay as small as they are. Tables:
 *   entries, failures, anonymous  one for each part: id -> text, and `count` -> their number
 *   lists    list, NUL, member -> nothing; the member is an id, or ends with it
 */
interface Tables {
  file: EmbeddedFile
  parts: Readonly<Record<Part, Rows>>
  lists: Rows
}

const TABLE_NAMES: Readonly<Record<Part, string>> = {
  trail: 'entries',
  failures: 'failures',
  anonymous: 'anonymous',
}

/** No digit of an id comes first in it, so it sorts behind all ids. */
const COUNT = Buffer.from('~count')
/** Ends the name of a list; no name holds it. */
const END_OF_LIST = '\u0000'

/** The journal, opened when it is first needed: a start does not wait for it. */
export class EmbeddedJournal implements JournalStore {
  readonly #folder: string
  readonly #timeout: number
  #tables: Promise<Tables> | null = null
  #isClosed = false

  constructor(folder: string, timeout: number) {
    this.#folder = folder
    this.#timeout = timeout
  }

  /** Keeps entries until they are trimmed: in a file nothing else ends. */
  async append(added: readonly JournalEntry[]): Promise<void> {
    const { file, parts, lists } = await this.#open()
    const stored = added.map(entry => ({ part: partOf(entry), id: entry.id, text: writeEntry(entry) }))
    await file.add(() => {
      for (const part of PARTS)
        keep(
          parts[part],
          lists,
          stored.filter(entry => entry.part === part),
        )
    })
  }

  async trim(before: number, most: number, part: Part): Promise<number> {
    const { file, parts, lists } = await this.#open()
    const entries = parts[part]
    if (file.read(() => dueIn(entries, before, most).length) === 0) return 0
    return file.write(() => {
      const due = dueIn(entries, before, most)
      for (const entry of due) {
        for (const { list, member } of listsOf({ part, ...entry })) lists.removeSync(listKey(list, member))
        entries.removeSync(Buffer.from(entry.id))
      }
      changeCount(entries, -due.length)
      return due.length
    })
  }

  async page(query: JournalQuery): Promise<JournalPage> {
    const { file, parts, lists } = await this.#open()
    return file.read(() => {
      const named = nameListsFor(query).flatMap(({ type, list }) =>
        loginIdsIn(lists, list).map(login_id => ({ type, login_id })),
      )
      const listed = sourcesOf(query, named).map(({ part, list }) =>
        newestIn(list === null ? parts[part] : lists, list, query).map(id => ({ part, id })),
      )
      const { found, next } = newestOf(listed, query.size)
      const texts = found.map(({ part, id }) => readEntry(id, parts[part].get(Buffer.from(id)) ?? ''))
      return { entries: texts.filter(entry => entry !== null), next }
    })
  }

  /** Lets changes under way finish. */
  async close(): Promise<void> {
    this.#isClosed = true
    const tables = await this.#tables?.catch(() => null)
    await tables?.file.close()
  }

  #open(): Promise<Tables> {
    if (this.#isClosed) throw new Unavailable('the journal is closed')
    this.#tables ??= openTables(this.#folder, this.#timeout).catch(fault => {
      this.#tables = null
      throw new Unavailable('the journal cannot be opened', fault)
    })
    return this.#tables
  }
}

async function openTables(folder: string, timeout: number): Promise<Tables> {
  const file = await EmbeddedFile.open(folder, timeout, FILE_NAME)
  try {
    return await file.creating(() => {
      const [trail, failures, anonymous] = PARTS.map(part => file.table(TABLE_NAMES[part])) as [Rows, Rows, Rows]
      return { file, parts: { trail, failures, anonymous }, lists: file.table('lists') }
    })
  } catch (fault) {
    await file.close()
    throw fault
  }
}

const listKey = (list: string, member: string): Buffer => Buffer.from(list + END_OF_LIST + member)

const countIn = (entries: Rows): number => Number(entries.get(COUNT) ?? 0)

/** Keeps entries of one part, but those that are kept already. Within a write. */
function keep(entries: Rows, lists: Rows, added: readonly Stored[]): void {
  const fresh = added.filter(({ id }) => entries.get(Buffer.from(id)) === undefined)
  for (const entry of fresh) {
    entries.putSync(Buffer.from(entry.id), entry.text)
    for (const { list, member } of listsOf(entry)) lists.putSync(listKey(list, member), '')
  }
  changeCount(entries, fresh.length)
}

/** Within a write. */
function changeCount(entries: Rows, change: number): void {
  if (change !== 0) entries.putSync(COUNT, String(countIn(entries) + change))
}

/** The oldest entries, if they are too old or too many. */
function dueIn(entries: Rows, before: number, most: number): { id: string; text: string }[] {
  const surplus = countIn(entries) - most
  const oldest = entries.getRange({ end: COUNT, limit: TRIMMED_AT_ONCE })
  return Array.from(oldest, ({ key, value }) => ({ id: key.toString('latin1'), text: value })).filter(
    ({ id }, i) => i < surplus || timeOf(id) < before,
  )
}

/** The login ids in the list of a name: one read for each, however many entries it has. */
function loginIdsIn(lists: Rows, list: string): string[] {
  const found: string[] = []
  const end = listKey(list, '\u007f')
  for (let start = listKey(list, ''); found.length < NAMED_AT_MOST; start = listKey(list, behind(found.at(-1)!))) {
    const [next] = lists.getKeys({ start, end, limit: 1 })
    if (next === undefined) break
    found.push(loginIdOf(next.toString('latin1', list.length + END_OF_LIST.length)))
  }
  return found
}

/** The newest ids of a list, or of all entries: one more than the page has, if there are so many. */
function newestIn(rows: Rows, list: string | null, query: JournalQuery): string[] {
  const { from, to } = boundsOf(query)
  const key = (id: string): Buffer => (list === null ? Buffer.from(id) : listKey(list, id))
  const start = list === null ? 0 : list.length + END_OF_LIST.length
  const keys = rows.getKeys({
    start: key(to),
    exclusiveStart: true,
    end: key(from),
    reverse: true,
    limit: query.size + 1,
  })
  return Array.from(keys, found => found.toString('latin1', start))
}
