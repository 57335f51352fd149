import { Cluster } from 'ioredis'
import type { Clock } from '../../clock.ts'
import type { LoginType } from '../../side/record.ts'
import type { RedisClient } from './client.ts'
import { createAsk } from './commands.ts'
import type { Keys } from './keys.ts'
import type { Entry } from './population-entries.ts'
import { CLAIM, INDEX_KEYS, POPULATION_SCRIPTS } from './population-scripts.ts'

/** What the view asks of Redis: each is one command, on keys of one slot. */
export type PopulationCommands = ReturnType<typeof populationCommandsOn>

/** Digests that a script takes at once: Lua unpacks a few thousand values at most. */
const MAX_DIGESTS = 500

type Script = (...args: (string | number)[]) => Promise<never>
type Scripts = Record<keyof typeof POPULATION_SCRIPTS | 'populationClaim', Script>

export function populationCommandsOn(client: RedisClient, timeout: number, keys: Keys, clock: Clock) {
  for (const [name, lua] of Object.entries(POPULATION_SCRIPTS)) {
    client.defineCommand(name, { numberOfKeys: INDEX_KEYS.length, lua })
  }
  client.defineCommand('populationClaim', { numberOfKeys: 1, lua: CLAIM })
  const scripts = client as unknown as Scripts
  const ask = createAsk(client, timeout)

  const run = <T>(name: keyof typeof POPULATION_SCRIPTS, type: LoginType, ...args: (string | number)[]): Promise<T> =>
    ask(() => scripts[name](...INDEX_KEYS.map(key => keys.index(type, key)), ...args))
  const on = (type: LoginType, name: (typeof INDEX_KEYS)[number]): string => keys.index(type, name)

  return {
    /** A token lives. Where it is new to the view, a login is counted on its day, and in `minute` unless that is `null`. */
    async enter(type: LoginType, userId: string, entry: Entry, minute: number | null): Promise<void> {
      const { digest, created, names, endsAt, day } = entry
      await run('populationEnter', type, clock.now(), userId, digest, created, names, endsAt, day, minute ?? '')
    },
    async leave(type: LoginType, userId: string, digests: readonly string[]): Promise<void> {
      const parts = Math.ceil(digests.length / MAX_DIGESTS)
      const part = (i: number) => digests.slice(i * MAX_DIGESTS, (i + 1) * MAX_DIGESTS)
      await Promise.all(
        Array.from({ length: parts }, (_, i) => run('populationLeave', type, clock.now(), userId, ...part(i))),
      )
    },
    /** A token ends at another time; `false` when the view does not know it. */
    move: async (type: LoginType, userId: string, digest: string, endsAt: number): Promise<boolean> =>
      (await run<number>('populationMove', type, clock.now(), userId, digest, endsAt)) === 1,
    sweep: (type: LoginType, limit: number): Promise<number> => run('populationSweep', type, clock.now(), limit),
    repair: async (type: LoginType, userIds: readonly string[]): Promise<void> => {
      if (userIds.length > 0) await run('populationRepair', type, ...userIds)
    },
    prune: (type: LoginType, key: 'online' | 'tokens' | 'recent' | 'counts', cursor: string): Promise<string> =>
      run('populationPrune', type, key, cursor, 200),
    pruneNames: (type: LoginType, cursor: string): Promise<string> => run('populationPruneNames', type, cursor, 4),
    tally: (type: LoginType): Promise<[users: number, tokens: number, most: number]> =>
      run('populationTally', type, clock.now()),
    page: (type: LoginType, offset: number, limit: number): Promise<[total: number, ...userIds: string[]]> =>
      run('populationPage', type, clock.now(), offset, limit),
    search: (type: LoginType, beginning: string, limit: number): Promise<(string | null)[]> =>
      run('populationSearch', type, beginning, limit),

    /** Where this gateway's look at the users goes on; `''` when they were looked at lately, `null` when it is not its turn. */
    claim: (type: LoginType, pause: number, roundPause: number): Promise<string | null> =>
      ask(() => scripts.populationClaim(keys.index(type, 'upkeep'), clock.now(), pause, roundPause)),
    async goOn(type: LoginType, cursor: string): Promise<void> {
      await ask(() => client.hset(keys.index(type, 'upkeep'), 'cursor', cursor))
    },

    linesOf: (type: LoginType, userId: string): Promise<string | null> =>
      ask(() => client.hget(on(type, 'users'), userId)),
    linesOfAll: async (type: LoginType, userIds: readonly string[]): Promise<(string | null)[]> =>
      userIds.length === 0 ? [] : ask(() => client.hmget(on(type, 'users'), ...userIds)),
    /** When the last session of each user ends, as the view has it; `null` for a user it does not know. */
    endsOfUsers: async (type: LoginType, userIds: readonly string[]): Promise<(number | null)[]> =>
      userIds.length === 0 ? [] : (await ask(() => client.zmscore(on(type, 'online'), ...userIds))).map(orNull),
    endsOfTokens: async (type: LoginType, userId: string, digests: readonly string[]): Promise<(number | null)[]> =>
      digests.length === 0
        ? []
        : (await ask(() => client.zmscore(on(type, 'tokens'), ...digests.map(digest => digest + userId)))).map(orNull),
    async someUsers(type: LoginType, cursor: string, count: number): Promise<{ next: string; userIds: string[] }> {
      const [next, found] = await ask(() => client.hscan(on(type, 'users'), cursor, 'COUNT', count))
      return { next, userIds: found.filter((_, i) => i % 2 === 0) }
    },
    tokensKnown: (type: LoginType): Promise<number> => ask(() => client.zcard(on(type, 'tokens'))),
    logins: async (type: LoginType, fields: readonly string[]): Promise<number[]> =>
      fields.length === 0 ? [] : (await ask(() => client.hmget(on(type, 'logins'), ...fields))).map(Number),

    /** The users who have a session set, page by page; only for building the view anew. */
    async *sets(type: LoginType): AsyncGenerator<{ userIds: string[]; done: number }> {
      const prefix = keys.session(type, '')
      const pattern = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}*`
      const nodes = client instanceof Cluster ? client.nodes('master') : [client]
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

const orNull = (score: string | null): number | null => (score === null ? null : Number(score))
