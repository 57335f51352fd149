import {
  boundsOf,
  ENTRY_ID_LENGTH,
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
import type { Ask } from './commands/ask.ts'
import type { Keys } from './commands/keys.ts'
import type { RedisClient } from './connection/connections.ts'

/*
 * Sorted sets whose members all have the score 0, so that they sort by their bytes: by the ids that they begin with.
 *   events         each entry: its id and its text, in one member
 *   events:<list>  the ids of the entries in a list
 *
 * Measured with 200 000 entries of 10 000 users, per entry: 500 bytes so; 630 with a key for each entry; 1250 in streams, of
 * which each takes some 4 KB however short it is. An entry of a stream also has to be later than those before it, which
 * entries of several gateways are not. Every command is on one key: in a Cluster the lists are in many slots.
 */

/** KEYS[1] a sorted set, ARGV: when it ends, members. */
const ADD = `
local members = {}
for i = 2, #ARGV do
  members[#members + 1] = 0
  members[#members + 1] = ARGV[i]
end
redis.call('ZADD', KEYS[1], unpack(members))
redis.call('PEXPIREAT', KEYS[1], ARGV[1])
return 1`

/** KEYS[1] a sorted set, ARGV: how many members. Answers how many it has, and the first of them. */
const FIRST = `return {redis.call('ZCARD', KEYS[1]), redis.call('ZRANGE', KEYS[1], 0, ARGV[1] - 1)}`

/** Members that the script adds at once: Lua unpacks a few thousand values at most. */
const ADDED_AT_ONCE = 500

/** Behind every text, which is JSON. */
const AFTER_TEXT = '\u007f'

interface Scripts {
  journalAdd(key: string, expiresAt: number, ...members: string[]): Promise<number>
  journalFirst(key: string, count: number): Promise<[count: number, members: string[]]>
}

export class RedisJournal implements JournalStore {
  readonly #client: RedisClient
  readonly #scripts: Scripts
  readonly #ask: Ask
  readonly #keys: Keys

  constructor(client: RedisClient, ask: Ask, keys: Keys) {
    client.defineCommand('journalAdd', { numberOfKeys: 1, lua: ADD })
    client.defineCommand('journalFirst', { numberOfKeys: 1, lua: FIRST })
    this.#client = client
    this.#scripts = client as unknown as Scripts
    this.#ask = ask
    this.#keys = keys
  }

  /** The entries first: one that is in no list yet is trimmed like any other, one that is only in lists would stay. */
  async append(entries: readonly JournalEntry[], expiresAt: number): Promise<void> {
    const added = entries.map(entry => ({ id: entry.id, text: writeEntry(entry) }))
    await this.#add(
      this.#keys.entries,
      added.map(({ id, text }) => id + text),
      expiresAt,
    )
    await Promise.all(Array.from(byList(added), ([list, ids]) => this.#add(this.#keys.entriesIn(list), ids, expiresAt)))
  }

  async #add(key: string, members: readonly string[], expiresAt: number): Promise<void> {
    for (let i = 0; i < members.length; i += ADDED_AT_ONCE) {
      const some = members.slice(i, i + ADDED_AT_ONCE)
      await this.#ask(() => this.#scripts.journalAdd(key, Math.ceil(expiresAt), ...some))
    }
  }

  /**
   * The lists first, for the same reason. The oldest are read and counted at once. So each entry that is removed had `most` newer
   * ones, whatever other gateways append and trim at the same time.
   */
  async trim(before: number, most: number): Promise<number> {
    const client = this.#client
    const { entries } = this.#keys
    const [count, oldest] = await this.#ask(() => this.#scripts.journalFirst(entries, TRIMMED_AT_ONCE))
    const due = oldest.filter((member, i) => i < count - most || timeOf(member) < before)
    if (due.length === 0) return 0
    const lists = byList(due.map(split))
    await Promise.all(Array.from(lists, ([list, ids]) => this.#ask(() => client.zrem(this.#keys.entriesIn(list), ids))))
    await this.#ask(() => client.zrem(entries, due))
    return due.length
  }

  async page(query: JournalQuery): Promise<JournalPage> {
    const lists = listsFor(query)
    if (lists === null) {
      const { ids: members, next } = newestIds([await this.#newestIn(this.#keys.entries, query)], query.size)
      return { entries: readAll(members), next: next === null ? null : split(next).id }
    }
    const found = await Promise.all(lists.map(list => this.#newestIn(this.#keys.entriesIn(list), query)))
    const { ids, next } = newestIds(found, query.size)
    const members = await Promise.all(ids.map(id => this.#memberOf(id)))
    return { entries: readAll(members.flat()), next }
  }

  /** The newest members of a sorted set: one more than the page has, if there are so many. */
  #newestIn(key: string, query: JournalQuery): Promise<string[]> {
    const { from, to } = boundsOf(query)
    return this.#ask(() => this.#client.zrange(key, `(${to}`, `[${from}`, 'BYLEX', 'REV', 'LIMIT', 0, query.size + 1))
  }

  /** An entry by its id; empty if it was removed meanwhile. */
  #memberOf(id: string): Promise<string[]> {
    const { entries } = this.#keys
    return this.#ask(() => this.#client.zrange(entries, `[${id}`, `(${id}${AFTER_TEXT}`, 'BYLEX', 'LIMIT', 0, 1))
  }
}

interface Stored {
  id: string
  text: string
}

const split = (member: string): Stored => ({
  id: member.slice(0, ENTRY_ID_LENGTH),
  text: member.slice(ENTRY_ID_LENGTH),
})

const readAll = (members: readonly string[]): JournalEntry[] =>
  members
    .map(split)
    .map(({ id, text }) => readEntry(id, text))
    .filter(entry => entry !== null)

/** The ids of entries by the lists that they are in. */
function byList(entries: readonly Stored[]): Map<string, string[]> {
  const lists = new Map<string, string[]>()
  for (const { id, text } of entries) {
    for (const list of listsOf(text)) {
      const ids = lists.get(list) ?? []
      lists.set(list, ids)
      ids.push(id)
    }
  }
  return lists
}
