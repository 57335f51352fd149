import { Cluster } from 'ioredis'
import type { Clock } from '../../clock.ts'
import { Unavailable } from '../../refusal.ts'
import { type RedisClient, summaryOf } from './client.ts'
import type { Repeats } from './failover/repeats.ts'
import type { CheckedServer, Gate } from './failover/server-gate.ts'
import type { Scripts } from './scripts.ts'

/*
 * What the Redis store asks of Redis: commands on one key each, because the specified key shapes fall into different
 * slots of a Cluster. Moments are milliseconds since the epoch. Every command throws `Unavailable` when Redis does not
 * answer it in time; it may have happened all the same.
 */
export interface RedisCommands {
  get(key: string): Promise<string | null>
  set(key: string, value: string, expiresAt: number): Promise<void>
  /** Sets a key that must not exist yet. */
  create(key: string, value: string, expiresAt: number): Promise<boolean>
  /**
   * `create` and `addMember` in one, for a replica, too: one that takes over has both or neither. Absent in a Cluster,
   * where the two keys lie in different slots.
   */
  enter?(key: string, value: string, set: string, member: string, expiresAt: number): Promise<void>
  /** The value, which is gone from then on. */
  take(key: string): Promise<string | null>
  /** `false` when there was nothing to delete. */
  delete(key: string): Promise<boolean>
  /** The same of a token's record, for good: it is repeated on a server that takes over and does not know it. */
  revoke(key: string): Promise<boolean>
  /** Disables a login id until then, or unties it; for good, too. */
  disable(key: string, until: number): Promise<void>
  /** `false` when it was not disabled. */
  untie(key: string): Promise<boolean>
  /** Counts a kickout of a user, for as long as a login may be under way. */
  countKickout(key: string): Promise<void>
  /** When a key ends; `Infinity` without an end, `null` without the key. */
  endOf(key: string): Promise<number | null>
  /**
   * Moves the end of a key from the value that `endOf` found. Returns `changed` and does nothing if another client has
   * moved it since; returns `same` if the end is already the requested one.
   */
  moveEnd(key: string, from: number, to: number): Promise<'moved' | 'same' | 'changed' | 'gone'>
  /** Milliseconds left; `Infinity` without an end, `null` without the key. */
  timeLeft(key: string): Promise<number | null>

  /** Some members of a set, any of them, `MEMBERS_AT_ONCE` at most; none when there is no set. */
  someMembers(key: string): Promise<string[]>
  /**
   * Some members and where to go on; begins at `'0'` and ends there. Who is a member from the first page to the last is on
   * one of them, perhaps twice; unless another server takes over meanwhile, which has an order of its own.
   */
  scanMembers(key: string, cursor: string): Promise<{ next: string; members: string[] }>
  /** How many members a set has. */
  countMembers(key: string): Promise<number>
  /** Adds a member and lets the set live at least as long. A set that comes into being ends with its member. */
  addMember(key: string, member: string, expiresAt: number): Promise<void>
  removeMembers(key: string, members: readonly string[]): Promise<void>
  /**
   * Lets an existing set live at least until then, and always a little longer than before, so that the returned end is
   * unique. `null` without the set, or if it has no end.
   */
  extend(key: string, timestamp: number): Promise<number | null>
  /** Lets a set end with its only member, unless it has others or its end is no longer the one that `extend` told. */
  endWith(key: string, member: string, from: number, to: number): Promise<void>

  /** Adds a member that ends by itself to a sorted set, which ends with the last of them. */
  addEnding(key: string, member: string, expiresAt: number): Promise<void>
  removeEnding(key: string, member: string): Promise<void>
  /** How many members have not ended. */
  countEnding(key: string): Promise<number>

  /** Counts one more; the first opens a window of so many milliseconds, later ones do not extend it. */
  count(key: string, window: number): Promise<{ count: number; timeLeft: number }>
}

/**
 * Members of a set that one command reads. What is done with each of them are commands too: so many take the gateway some
 * milliseconds, and Redis less.
 */
export const MEMBERS_AT_ONCE = 100

/** Commands without an answer, over all clients; beyond it Redis is as good as stuck. */
const MAX_UNDER_WAY = 10_000

const ENDED = Promise.resolve(null)

/** The commands of the store on a client. What ended and what was disabled is answered as `repeats` remembers it. */
export function commandsOn(client: RedisClient, repeats: Repeats, clock: Clock): RedisCommands {
  const scripts = client as unknown as Scripts
  const { ask, changes } = repeats
  // In a Cluster a question may reach a new master before it is known that there is one.
  const mayBeStale = client instanceof Cluster ? () => true : () => !repeats.isSettled
  const remove = async (key: string): Promise<boolean> => (await ask(() => client.unlink(key))) === 1
  const changeDisabled = async (key: string, until: number): Promise<boolean> => {
    const change = until === 0 ? () => scripts.disableUntie(key) : () => scripts.disableSet(key, until)
    const [replaced, version] = await ask(change)
    await repeats.acknowledgeDisabled({ key, until, version, replaced: [replaced] })
    return replaced !== -2
  }

  return {
    get: key => (mayBeStale() && changes.isEnded(key) ? ENDED : ask(() => client.get(key))),
    set: async (key, value, at) => void (await ask(() => client.set(key, value, 'PXAT', Math.ceil(at)))),
    create: async (key, value, at) => (await ask(() => client.set(key, value, 'PXAT', Math.ceil(at), 'NX'))) === 'OK',
    ...(client instanceof Cluster
      ? {}
      : {
          async enter(key, value, set, member, at) {
            await ask(() => scripts.sessionEnter(key, set, member, Math.ceil(at), value))
          },
        }),
    take: key => ask(() => client.getdel(key)),
    delete: remove,
    async revoke(key) {
      const passedOn = repeats.acknowledge({ kind: 'ended', key, server: repeats.server })
      const [deleted] = await Promise.all([remove(key), passedOn])
      return deleted
    },
    disable: async (key, until) => void (await changeDisabled(key, Math.ceil(until))),
    untie: key => changeDisabled(key, 0),
    async countKickout(key) {
      const count = await ask(() => scripts.kickoutCount(key))
      await repeats.acknowledge({ kind: 'kicked', key, server: repeats.server, count })
    },
    async timeLeft(key) {
      const known = repeats.isSettled ? undefined : changes.disabled(key)
      if (known !== undefined) return known.until > clock.now() ? known.until - clock.now() : null
      // Redis keeps a key through the millisecond in which it ends; here its life is over when it begins.
      return orNone(await ask(() => client.pttl(key))) || null
    },
    endOf: async key => orNone(await ask(() => scripts.keyEnd(key))),
    moveEnd: (key, from, to) => ask(() => scripts.keyMoveEnd(key, from === Infinity ? -1 : from, Math.ceil(to))),
    someMembers: key => ask(() => client.srandmember(key, MEMBERS_AT_ONCE)),
    async scanMembers(key, cursor) {
      const [next, members] = await ask(() => client.sscan(key, cursor, 'COUNT', MEMBERS_AT_ONCE))
      return { next, members }
    },
    countMembers: key => ask(() => client.scard(key)),
    addMember: async (key, member, at) => void (await ask(() => scripts.sessionAddMember(key, member, Math.ceil(at)))),
    async removeMembers(key, members) {
      if (members.length > 0) await ask(() => client.srem(key, ...members))
    },
    async extend(key, timestamp) {
      const end = await ask(() => scripts.sessionExtend(key, Math.ceil(timestamp)))
      return end < 0 ? null : end
    },
    endWith: async (key, member, from, to) =>
      void (await ask(() => scripts.sessionEndWith(key, member, from, Math.ceil(to)))),
    addEnding: async (key, member, at) => void (await ask(() => scripts.endingAdd(key, member, Math.ceil(at)))),
    removeEnding: async (key, member) => void (await ask(() => client.zrem(key, member))),
    countEnding: key => ask(() => scripts.endingCount(key)),
    async count(key, window) {
      const [count, timeLeft] = await ask(() => scripts.windowCount(key, window))
      return { count, timeLeft }
    },
  }
}

/** A time of Redis: -1 says that a key has no end, -2 that there is no key. */
const orNone = (time: number): number | null => (time === -2 ? null : time === -1 ? Number.POSITIVE_INFINITY : time)

export type Ask = ReturnType<typeof createAsk>

/**
 * Puts one question to Redis. A question that was given up may still be answered, and counts until it is. Questions
 * wait while the server of a new connection is checked; an answer from another server than the checked one is
 * discarded.
 */
export function createAsk(
  client: RedisClient,
  timeout: number,
  gate: Gate,
): <T>(question: () => Promise<T>) => Promise<T> {
  let underWay = 0
  return <T>(question: () => Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      const refuse = (why: string): void => reject(new Unavailable(`Redis: ${why}`))
      if (client.status !== 'ready') return refuse('not connected')
      if (underWay >= MAX_UNDER_WAY) return refuse('too many commands are without an answer')
      underWay++
      let isGivenUp = false
      const timer = setTimeout(() => {
        isGivenUp = true
        refuse('no answer in time')
      }, timeout)
      const settled = (): void => {
        underWay--
        clearTimeout(timer)
      }
      const put = (server: CheckedServer): void => {
        question().then(
          answer => {
            settled()
            if (gate.answering === server) resolve(answer)
            else refuse('the connection is another one by now')
          },
          error => {
            settled()
            refuse(summaryOf(error))
          },
        )
      }
      if (gate.server !== null) return put(gate.server)
      gate.whenOpen(isOpen => {
        if (isOpen && !isGivenUp && gate.server !== null) return put(gate.server)
        settled()
        refuse('not connected')
      })
    })
}
