import { Cluster, type Redis } from 'ioredis'
import type { Clock } from '../../../clock.ts'
import type { LoginType } from '../../../session.ts'
import type { Ask } from '../commands/ask.ts'
import type { Keys } from '../commands/keys.ts'
import type { RedisClient } from '../connection/connections.ts'
import type { Entry } from './entries.ts'
import { CLAIM, FORGOTTEN_AT_ONCE, INDEX_KEYS, ONLINE_SCRIPTS } from './scripts.ts'

/** What the view asks of Redis: each is one command, on keys of one slot. */
export type OnlineCommands = ReturnType<typeof onlineCommandsOn>

/** Digests that a script takes at once: Lua unpacks a few thousand values at most. */
const MAX_DIGESTS = 500

type Script = (...args: (string | number)[]) => Promise<never>
type Scripts = Record<keyof typeof ONLINE_SCRIPTS | 'onlineClaim', Script>

export function onlineCommandsOn(client: RedisClient, ask: Ask, keys: Keys, clock: Clock) {
  for (const [name, lua] of Object.entries(ONLINE_SCRIPTS)) {
    client.defineCommand(name, { numberOfKeys: INDEX_KEYS.length, lua })
  }
  client.defineCommand('onlineClaim', { numberOfKeys: 1, lua: CLAIM })
  const scripts = client as unknown as Scripts

  const run = <T>(name: keyof typeof ONLINE_SCRIPTS, type: LoginType, ...args: (string | number)[]): Promise<T> =>
    ask(() => scripts[name](...INDEX_KEYS.map(key => keys.index(type, key)), ...args))
  const on = (type: LoginType, name: (typeof INDEX_KEYS)[number]): string => keys.index(type, name)

  const patternOf = (type: LoginType): string => `${keys.session(type, '').replace(/[\\*?[\]]/g, '\\$&')}*`

  /** The servers that hold keys, in an order that every gateway agrees on. */
  function nodesByName(): Map<string, Redis> {
    if (!(client instanceof Cluster)) return new Map([['redis', client]])
    const named = client.nodes('master').map(node => [`${node.options.host}:${node.options.port}`, node] as const)
    return new Map(named.sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  return {
    /** A token lives. Where it is new to the view, a login is counted on its day, and in `minute` unless that is `null`. */
    async enter(type: LoginType, userId: string, entry: Entry, minute: number | null): Promise<void> {
      const { digest, created, names, endsAt, day } = entry
      await run('onlineEnter', type, clock.now(), userId, digest, created, names, endsAt, day, minute ?? '')
    },
    async leave(type: LoginType, userId: string, digests: readonly string[]): Promise<void> {
      for (let i = 0; i < digests.length; i += MAX_DIGESTS) {
        await run('onlineLeave', type, clock.now(), userId, ...digests.slice(i, i + MAX_DIGESTS))
      }
    },
    /** A token ends at another time; `false` when the view does not know it. */
    move: async (type: LoginType, userId: string, digest: string, endsAt: number): Promise<boolean> =>
      (await run<number>('onlineMove', type, clock.now(), userId, digest, endsAt)) === 1,
    /** Removes some tokens that have expired, and tells how many, and whether there is more to do. */
    async sweep(type: LoginType, limit: number): Promise<{ expired: number; more: boolean }> {
      const [expired, forgotten] = await run<[number, number]>('onlineSweep', type, clock.now(), limit)
      return { expired, more: expired === limit || forgotten === FORGOTTEN_AT_ONCE }
    },
    repair: async (type: LoginType, userIds: readonly string[]): Promise<void> => {
      if (userIds.length > 0) await run('onlineRepair', type, ...userIds)
    },
    prune: (type: LoginType, key: 'online' | 'tokens' | 'recent' | 'counts', cursor: string): Promise<string> =>
      run('onlinePrune', type, key, cursor, 200),
    pruneNames: (type: LoginType, cursor: string): Promise<string> => run('onlinePruneNames', type, cursor, 4),
    tally: (type: LoginType): Promise<[users: number, tokens: number, most: number]> =>
      run('onlineTally', type, clock.now()),
    page: (type: LoginType, offset: number, limit: number): Promise<[total: number, ...userIds: string[]]> =>
      run('onlinePage', type, clock.now(), offset, limit),
    search: (
      type: LoginType,
      beginning: string,
      limit: number,
      after: string,
    ): Promise<[last: string, ...leaves: (string | null)[]]> => run('onlineSearch', type, beginning, limit, after),

    /**
     * Where this gateway's rounds go on, over the users of the view and over the session sets; `''` for one that is
     * complete and was begun lately, `null` when it is not this gateway's turn.
     */
    claim: (type: LoginType, pause: number, roundPause: number): Promise<[users: string, sets: string] | null> =>
      ask(() => scripts.onlineClaim(keys.index(type, 'upkeep'), clock.now(), pause, roundPause)),
    async goOn(type: LoginType, round: 'cursor' | 'sets', position: string): Promise<void> {
      await ask(() => client.hset(keys.index(type, 'upkeep'), round, position))
    },

    linesOf: (type: LoginType, userId: string): Promise<string | null> =>
      ask(() => client.hget(on(type, 'users'), userId)),
    countOlder: (type: LoginType, userId: string): Promise<number> =>
      ask(() => client.zcard(`${on(type, 'users')}:${userId}`)),
    /** Digests of the older tokens of a user who has very many, from a place on. */
    olderOf: (type: LoginType, userId: string, from: number, limit: number): Promise<string[]> =>
      ask(() => client.zrange(`${on(type, 'users')}:${userId}`, `${from}`, `${from + limit - 1}`)),
    linesOfAll: async (type: LoginType, userIds: readonly string[]): Promise<(string | null)[]> =>
      userIds.length === 0 ? [] : ask(() => client.hmget(on(type, 'users'), ...userIds)),
    /** When the last session of each user ends, as the view has it; `null` for a user it does not know. */
    endsOfUsers: async (type: LoginType, userIds: readonly string[]): Promise<(number | null)[]> =>
      userIds.length === 0 ? [] : (await ask(() => client.zmscore(on(type, 'online'), ...userIds))).map(orNull),
    /** Some users of the view, each with the lines. */
    async someUsers(
      type: LoginType,
      cursor: string,
      count: number,
    ): Promise<{ next: string; users: [string, string][] }> {
      const [next, found] = await ask(() => client.hscan(on(type, 'users'), cursor, 'COUNT', count))
      return { next, users: Array.from({ length: found.length / 2 }, (_, i) => [found[2 * i]!, found[2 * i + 1]!]) }
    },
    /** When tokens end, by the view: each named by digest and user id. */
    async endsOf(type: LoginType, members: readonly string[]): Promise<(number | null)[]> {
      const ends: (number | null)[] = []
      for (let i = 0; i < members.length; i += MAX_DIGESTS) {
        const some = members.slice(i, i + MAX_DIGESTS)
        ends.push(...(await ask(() => client.zmscore(on(type, 'tokens'), ...some))).map(orNull))
      }
      return ends
    },
    /** How many tokens are in a user's set. */
    sizeOfSet: (type: LoginType, userId: string): Promise<number> =>
      ask(() => client.scard(keys.session(type, userId))),
    /** The tokens in a user's set, each with the milliseconds that its record has left: -1 without an end, -2 when it is gone. */
    async setOf(type: LoginType, userId: string): Promise<{ token: string; left: number }[]> {
      const tokens = await ask(() => client.smembers(keys.session(type, userId)))
      return Promise.all(
        tokens.map(async token => ({ token, left: await ask(() => client.pttl(keys.token(type, token))) })),
      )
    },
    tokensKnown: (type: LoginType): Promise<number> => ask(() => client.zcard(on(type, 'tokens'))),
    logins: async (type: LoginType, fields: readonly string[]): Promise<number[]> =>
      fields.length === 0 ? [] : (await ask(() => client.hmget(on(type, 'logins'), ...fields))).map(Number),

    /**
     * The users who have a session set, some at a time. A position is a node and its cursor, `'0'` before the first and
     * after the last; where the nodes of a Cluster change meanwhile, the next round finds what this one missed.
     */
    async someSets(type: LoginType, position: string): Promise<{ next: string; userIds: string[] }> {
      const nodes = nodesByName()
      const names = [...nodes.keys()]
      const [name = '', cursor = '0'] = position.split(' ')
      const here = nodes.has(name) ? names.indexOf(name) : 0
      const node = nodes.get(names[here] ?? '')
      if (node === undefined) return { next: '0', userIds: [] }
      const from = nodes.has(name) ? cursor : '0'
      const [after, found] = await ask(() => node.scan(from, 'MATCH', patternOf(type), 'COUNT', ROUND_COUNT))
      const userIds = found.map(key => key.slice(keys.session(type, '').length))
      if (after !== '0') return { next: `${names[here]} ${after}`, userIds }
      return { next: here + 1 < names.length ? `${names[here + 1]} 0` : '0', userIds }
    },

    /** The users who have a session set, page by page; only for building the view anew. */
    async *sets(type: LoginType): AsyncGenerator<{ userIds: string[]; done: number }> {
      const prefix = keys.session(type, '')
      const pattern = patternOf(type)
      const nodes = [...nodesByName().values()]
      for (const [i, node] of nodes.entries()) {
        const buckets = 2 ** Math.ceil(Math.log2(Math.max(await ask(() => node.dbsize()), 1)))
        let [cursor, steps] = ['0', 0]
        do {
          const [next, found] = await ask(() => node.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT))
          cursor = next
          steps++
          const ofNode = cursor === '0' ? 1 : Math.min(1, (steps * SCAN_COUNT) / buckets)
          yield { userIds: found.map(key => key.slice(prefix.length)), done: (i + ofNode) / nodes.length }
        } while (cursor !== '0')
      }
    },
  }
}

const SCAN_COUNT = 500
/** Keys that one step of a round passes: other commands wait for it, well below a millisecond. */
const ROUND_COUNT = 1000

const orNull = (score: string | null): number | null => (score === null ? null : Number(score))
