import type { Clock } from '../../../base/clock.ts'
import type { LoginType } from '../../../session/sides.ts'
import type { Keys } from '../commands/key-names.ts'
import type { Scripts as SessionScripts } from '../commands/key-scripts.ts'
import type { Ask } from '../commands/send-command.ts'
import type { RedisClient } from '../connection/client.ts'
import type { Entry } from './entries.ts'
import { CLAIM, FORGOTTEN_AT_ONCE, ONLINE_KEYS, ONLINE_SCRIPTS } from './online-scripts.ts'
import { sessionSetsOf } from './session-sets.ts'

/** The commands on the online keys of a side, which lie in one slot. */
export type OnlineCommands = ReturnType<typeof onlineCommandsOn>

/** Digests that a script takes at once: Lua unpacks a few thousand values at most. */
const MAX_DIGESTS = 500
/** Users that one command lists. */
const USERS_AT_ONCE = 500

type Arguments = (string | number)[]
type Script = (...args: Arguments) => Promise<never>
type Scripts = Record<keyof typeof ONLINE_SCRIPTS | 'onlineClaim', Script>
type OnlineKey = (typeof ONLINE_KEYS)[number]

/** How the commands reach Redis. */
interface Access {
  client: RedisClient
  ask: Ask
  keys: Keys
  clock: Clock
  /** Runs a script on the online keys of a side. */
  run<T>(name: keyof typeof ONLINE_SCRIPTS, type: LoginType, ...args: Arguments): Promise<T>
  on(type: LoginType, key: OnlineKey | 'disabled'): string
}

export function onlineCommandsOn(client: RedisClient, ask: Ask, keys: Keys, clock: Clock) {
  for (const [name, lua] of Object.entries(ONLINE_SCRIPTS)) {
    client.defineCommand(name, { numberOfKeys: ONLINE_KEYS.length, lua })
  }
  client.defineCommand('onlineClaim', { numberOfKeys: 1, lua: CLAIM })
  const scripts = client as unknown as Scripts
  const access: Access = {
    client,
    ask,
    keys,
    clock,
    run: (name, type, ...args) => ask(() => scripts[name](...ONLINE_KEYS.map(key => keys.online(type, key)), ...args)),
    on: (type, key) => keys.online(type, key),
  }
  return {
    ...changesOf(access),
    ...repairsOf(access),
    ...disabledIn(access),
    ...roundsOf(access, scripts),
    ...queriesOf(access),
    ...linesIn(access),
    ...endsIn(access),
    ...sessionSetsOf(client, ask, keys),
  }
}

function changesOf({ run, clock }: Access) {
  return {
    /** A token lives. Where it is new to the online keys, a login is counted on its day, and in `minute` unless that is `null`. */
    async enter(type: LoginType, userId: string, entry: Entry, minute: number | null): Promise<void> {
      const { digest, created, names, endsAt, day } = entry
      await run('onlineEnter', type, clock.now(), userId, digest, created, names, endsAt, day, minute ?? '')
    },
    async leave(type: LoginType, userId: string, digests: readonly string[]): Promise<void> {
      for (let i = 0; i < digests.length; i += MAX_DIGESTS) {
        await run('onlineLeave', type, clock.now(), userId, ...digests.slice(i, i + MAX_DIGESTS))
      }
    },
    /** A token ends at another time; `false` when the online keys do not have it. */
    move: async (type: LoginType, userId: string, digest: string, endsAt: number): Promise<boolean> =>
      (await run<number>('onlineMove', type, clock.now(), userId, digest, endsAt)) === 1,
    /** Removes some tokens that have expired, and answers how many, and whether there is more to do. */
    async sweep(type: LoginType, limit: number): Promise<{ expired: number; more: boolean }> {
      const [expired, forgotten] = await run<[number, number]>('onlineSweep', type, clock.now(), limit)
      return { expired, more: expired === limit || forgotten === FORGOTTEN_AT_ONCE }
    },
  }
}

/** What repairs the online keys, when they are built anew. */
function repairsOf({ run }: Access) {
  return {
    repair: async (type: LoginType, userIds: readonly string[]): Promise<void> => {
      if (userIds.length > 0) await run('onlineRepair', type, ...userIds)
    },
    prune: (type: LoginType, key: 'online' | 'tokens' | 'recent' | 'counts', cursor: string): Promise<string> =>
      run('onlinePrune', type, key, cursor, 200),
    pruneNames: (type: LoginType, cursor: string): Promise<string> => run('onlinePruneNames', type, cursor, 4),
  }
}

function disabledIn({ client, ask, on }: Access) {
  const scripts = client as unknown as Pick<SessionScripts, 'endingAdd' | 'endingPage'>
  return {
    /** A login id is disabled until then, or enabled (0). */
    async setDisabled(type: LoginType, userId: string, until: number): Promise<void> {
      const key = on(type, 'disabled')
      if (until === 0) await ask(() => client.zrem(key, userId))
      else await ask(() => scripts.endingAdd(key, userId, Math.ceil(until)))
    },
    disabledPage: (type: LoginType, offset: number, limit: number): Promise<[total: number, ...userIds: string[]]> =>
      ask(() => scripts.endingPage(on(type, 'disabled'), offset, limit)),
    /** When login ids are enabled, by the online keys; `null` for one that these do not have. */
    endsOfDisabled: async (type: LoginType, userIds: readonly string[]): Promise<(number | null)[]> =>
      userIds.length === 0 ? [] : (await ask(() => client.zmscore(on(type, 'disabled'), ...userIds))).map(orNull),
  }
}

/** What the gateways of a store share of their rounds. */
function roundsOf({ client, ask, keys, clock }: Access, scripts: Scripts) {
  return {
    /**
     * Where this gateway's rounds go on, over the online users and over the session sets; `''` for one that is
     * complete and was begun lately, `null` when it is not this gateway's turn.
     */
    claim: (type: LoginType, pause: number, roundPause: number): Promise<[users: string, sets: string] | null> =>
      ask(() => scripts.onlineClaim(keys.online(type, 'upkeep'), clock.now(), pause, roundPause)),
    async goOn(type: LoginType, round: 'cursor' | 'sets', position: string): Promise<void> {
      await ask(() => client.hset(keys.online(type, 'upkeep'), round, position))
    },
  }
}

function queriesOf({ client, ask, run, on, clock }: Access) {
  return {
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
    someOnline: async (type: LoginType, cursor: string): Promise<{ next: string; userIds: string[] }> => {
      const [next, found] = await ask(() => client.zscan(on(type, 'online'), cursor, 'COUNT', USERS_AT_ONCE))
      return { next, userIds: found.filter((_, i) => i % 2 === 0) }
    },
    tokensKnown: (type: LoginType): Promise<number> => ask(() => client.zcard(on(type, 'tokens'))),
    logins: async (type: LoginType, fields: readonly string[]): Promise<number[]> =>
      fields.length === 0 ? [] : (await ask(() => client.hmget(on(type, 'logins'), ...fields))).map(Number),
  }
}

function linesIn({ client, ask, on }: Access) {
  return {
    linesOf: (type: LoginType, userId: string): Promise<string | null> =>
      ask(() => client.hget(on(type, 'users'), userId)),
    countOlder: (type: LoginType, userId: string): Promise<number> =>
      ask(() => client.zcard(`${on(type, 'users')}:${userId}`)),
    /** Digests of the older tokens of a user who has very many, from a place on. */
    olderOf: (type: LoginType, userId: string, from: number, limit: number): Promise<string[]> =>
      ask(() => client.zrange(`${on(type, 'users')}:${userId}`, `${from}`, `${from + limit - 1}`)),
    linesOfAll: async (type: LoginType, userIds: readonly string[]): Promise<(string | null)[]> =>
      userIds.length === 0 ? [] : ask(() => client.hmget(on(type, 'users'), ...userIds)),
    /** Some online users, each with the lines. */
    async someUsers(
      type: LoginType,
      cursor: string,
      count: number,
    ): Promise<{ next: string; users: [string, string][] }> {
      const [next, found] = await ask(() => client.hscan(on(type, 'users'), cursor, 'COUNT', count))
      return { next, users: Array.from({ length: found.length / 2 }, (_, i) => [found[2 * i]!, found[2 * i + 1]!]) }
    },
  }
}

function endsIn({ client, ask, on }: Access) {
  return {
    /** When the last session of each user ends, by the online keys; `null` for a user whom they do not have. */
    endsOfUsers: async (type: LoginType, userIds: readonly string[]): Promise<(number | null)[]> =>
      userIds.length === 0 ? [] : (await ask(() => client.zmscore(on(type, 'online'), ...userIds))).map(orNull),
    /** When tokens end, by the online keys: each named by digest and user id. */
    async endsOf(type: LoginType, members: readonly string[]): Promise<(number | null)[]> {
      const ends: (number | null)[] = []
      for (let i = 0; i < members.length; i += MAX_DIGESTS) {
        const some = members.slice(i, i + MAX_DIGESTS)
        ends.push(...(await ask(() => client.zmscore(on(type, 'tokens'), ...some))).map(orNull))
      }
      return ends
    },
  }
}

const orNull = (score: string | null): number | null => (score === null ? null : Number(score))
