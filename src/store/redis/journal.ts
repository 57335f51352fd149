import type { LoginType } from '../../session/sides.ts'
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
import { ENTRY_ID_LENGTH, timeOf } from '../journal-id.ts'
import type { Keys } from './commands/key-names.ts'
import type { Ask } from './commands/send-command.ts'
import type { RedisClient } from './connection/client.ts'

/*
 * Sorted sets whose members all have the score 0, so that they sort by their bytes: by the ids that they begin with.
 *   events         each entry of the trail: its id and its text, in one member
 *   events:~<part> the same of another part
 *   events:<list>  the members of a list: ids of entries, or what ends with them
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
    const added = entries.map(entry => ({ part: partOf(entry), id: entry.id, text: writeEntry(entry) }))
    for (const part of PARTS) {
      const members = added.filter(entry => entry.part === part).map(({ id, text }) => id + text)
      await this.#add(this.#keys.entries(part), members, expiresAt)
    }
    const lists = byList(added)
    await Promise.all(Array.from(lists, ([list, members]) => this.#add(this.#keys.entriesIn(list), members, expiresAt)))
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
  async trim(before: number, most: number, part: Part): Promise<number> {
    const client = this.#client
    const entries = this.#keys.entries(part)
    const [count, oldest] = await this.#ask(() => this.#scripts.journalFirst(entries, TRIMMED_AT_ONCE))
    const due = oldest.filter((member, i) => i < count - most || timeOf(member) < before)
    if (due.length === 0) return 0
    const lists = byList(due.map(member => split(part, member)))
    await Promise.all(
      Array.from(lists, ([list, members]) => this.#ask(() => client.zrem(this.#keys.entriesIn(list), members))),
    )
    await this.#ask(() => client.zrem(entries, due))
    return due.length
  }

  async page(query: JournalQuery): Promise<JournalPage> {
    const sources = sourcesOf(query, await this.#named(query))
    const listed = await Promise.all(
      sources.map(async ({ part, list }) => {
        const key = list === null ? this.#keys.entries(part) : this.#keys.entriesIn(list)
        return (await this.#newestIn(key, query)).map(member => split(part, member))
      }),
    )
    const { found, next } = newestOf(listed, query.size)
    // A list has ids alone.
    const whole = found.map(entry => (entry.text === '' ? this.#find(entry) : [entry]))
    return { entries: readAll((await Promise.all(whole)).flat()), next }
  }

  /** The users that have the name of a query. */
  async #named(query: JournalQuery): Promise<{ type: LoginType; login_id: string }[]> {
    const found = nameListsFor(query).map(async ({ type, list }) =>
      (await this.#loginIdsIn(this.#keys.entriesIn(list))).map(login_id => ({ type, login_id })),
    )
    return (await Promise.all(found)).flat()
  }

  /** The login ids in the list of a name: one command for each, however many entries it has. */
  async #loginIdsIn(key: string): Promise<string[]> {
    const found: string[] = []
    for (let start = '-'; found.length < NAMED_AT_MOST; start = `(${behind(found.at(-1)!)}`) {
      const [next] = await this.#ask(() => this.#client.zrange(key, start, '+', 'BYLEX', 'LIMIT', 0, 1))
      if (next === undefined) break
      found.push(loginIdOf(next))
    }
    return found
  }

  /** The newest members of a sorted set: one more than the page has, if there are so many. */
  #newestIn(key: string, query: JournalQuery): Promise<string[]> {
    const { from, to } = boundsOf(query)
    return this.#ask(() => this.#client.zrange(key, `(${to}`, `[${from}`, 'BYLEX', 'REV', 'LIMIT', 0, query.size + 1))
  }

  /** An entry by its id; empty if it was removed meanwhile. */
  async #find({ part, id }: Stored): Promise<Stored[]> {
    const key = this.#keys.entries(part)
    const members = await this.#ask(() =>
      this.#client.zrange(key, `[${id}`, `(${id}${AFTER_TEXT}`, 'BYLEX', 'LIMIT', 0, 1),
    )
    return members.map(member => split(part, member))
  }
}

const split = (part: Part, member: string): Stored => ({
  part,
  id: member.slice(0, ENTRY_ID_LENGTH),
  text: member.slice(ENTRY_ID_LENGTH),
})

const readAll = (stored: readonly Stored[]): JournalEntry[] =>
  stored.map(({ id, text }) => readEntry(id, text)).filter(entry => entry !== null)

/** The members of the lists that entries are in. */
function byList(entries: readonly Stored[]): Map<string, string[]> {
  const lists = new Map<string, string[]>()
  for (const { list, member } of entries.flatMap(listsOf)) {
    const members = lists.get(list) ?? []
    lists.set(list, members)
    members.push(member)
  }
  return lists
}
