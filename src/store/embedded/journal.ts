import { Unavailable } from '../../refusal.ts'
import {
  boundsOf,
  type JournalEntry,
  type JournalPage,
  type JournalQuery,
  type JournalStore,
  listsFor,
  listsOf,
  newestIds,
  readEntry,
  TRIMMED_AT_ONCE,
  timeOf,
  writeEntry,
} from '../journal.ts'
import { EmbeddedFile, type Rows } from './file/file.ts'

const FILE_NAME = 'journal.mdb'

/*
 * A file of its own: its changes hold up no login, and the sessions stay as small as they are. Two tables:
 *   entries  id -> text, and `count` -> their number
 *   lists    list, NUL, id -> nothing
 */
interface Tables {
  file: EmbeddedFile
  entries: Rows
  lists: Rows
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
    const { file, entries, lists } = await this.#open()
    await file.write(() => {
      const fresh = added.filter(({ id }) => entries.get(Buffer.from(id)) === undefined)
      for (const entry of fresh) {
        const text = writeEntry(entry)
        entries.putSync(Buffer.from(entry.id), text)
        for (const list of listsOf(text)) lists.putSync(listKey(list, entry.id), '')
      }
      changeCount(entries, fresh.length)
    })
  }

  async trim(before: number, most: number): Promise<number> {
    const { file, entries, lists } = await this.#open()
    if (file.read(() => dueIn(entries, before, most).length) === 0) return 0
    return file.write(() => {
      const due = dueIn(entries, before, most)
      for (const { id, text } of due) {
        for (const list of listsOf(text)) lists.removeSync(listKey(list, id))
        entries.removeSync(Buffer.from(id))
      }
      changeCount(entries, -due.length)
      return due.length
    })
  }

  async page(query: JournalQuery): Promise<JournalPage> {
    const { file, entries, lists } = await this.#open()
    return file.read(() => {
      const named = listsFor(query) ?? [null]
      const found = named.map(list => newestIn(list === null ? entries : lists, list, query))
      const { ids, next } = newestIds(found, query.size)
      const texts = ids.map(id => readEntry(id, entries.get(Buffer.from(id)) ?? ''))
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
    return await file.creating(() => ({ file, entries: file.table('entries'), lists: file.table('lists') }))
  } catch (fault) {
    await file.close()
    throw fault
  }
}

const listKey = (list: string, id: string): Buffer => Buffer.from(list + END_OF_LIST + id)

const countIn = (entries: Rows): number => Number(entries.get(COUNT) ?? 0)

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
