import { Unavailable } from '../../refusal.ts'
import { type RedisClient, summaryOf } from './client.ts'
import { rememberRevocations } from './revocations.ts'
import { SCRIPTS, type Scripts } from './scripts.ts'

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
  /** The value, which is gone from then on. */
  take(key: string): Promise<string | null>
  /** `false` when there was nothing to delete. */
  delete(key: string): Promise<boolean>
  /** The same, for good: where Redis forgets it, because a replica that had not heard of it takes over, it is repeated. */
  revoke(key: string): Promise<boolean>
  /** When a key ends; `Infinity` without an end, `null` without the key. */
  endOf(key: string): Promise<number | null>
  /**
   * Moves the end of a key from where `endOf` found it. `changed`, and nothing is done, when somebody else has moved it
   * since; `same` when it is to end when it ends already.
   */
  moveEnd(key: string, from: number, to: number): Promise<'moved' | 'same' | 'changed' | 'gone'>
  /** Milliseconds left; `Infinity` without an end, `null` without the key. */
  timeLeft(key: string): Promise<number | null>

  members(key: string): Promise<string[]>
  /** Adds a member and lets the set live at least as long. A set that comes into being ends with its member. */
  addMember(key: string, member: string, expiresAt: number): Promise<void>
  removeMembers(key: string, members: readonly string[]): Promise<void>
  /**
   * Lets an existing set live at least until then, and always a little longer than before: the end it answers is one that
   * nobody else was told. `null` without the set, or when it has no end.
   */
  extend(key: string, moment: number): Promise<number | null>
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

/** Commands without an answer, over all callers; beyond it Redis is as good as stuck. */
const MAX_UNDER_WAY = 10_000

/** The commands of the store on a client; each is answered or given up within `timeout` milliseconds. */
export function commandsOn(client: RedisClient, timeout: number): RedisCommands {
  for (const [name, lua] of Object.entries(SCRIPTS)) client.defineCommand(name, { numberOfKeys: 1, lua })
  const scripts = client as unknown as Scripts
  const ask = createAsk(client, timeout)
  const remove = async (key: string): Promise<boolean> => (await ask(() => client.unlink(key))) === 1
  const revocations = rememberRevocations(client, remove)

  return {
    get: key => ask(() => client.get(key)),
    set: async (key, value, at) => void (await ask(() => client.set(key, value, 'PXAT', Math.ceil(at)))),
    create: async (key, value, at) => (await ask(() => client.set(key, value, 'PXAT', Math.ceil(at), 'NX'))) === 'OK',
    take: key => ask(() => client.getdel(key)),
    delete: remove,
    revoke(key) {
      revocations.add(key)
      return remove(key)
    },
    // Redis keeps a key through the millisecond in which it ends; here its life is over when it begins.
    timeLeft: async key => orNone(await ask(() => client.pttl(key))) || null,
    endOf: async key => orNone(await ask(() => scripts.keyEnd(key))),
    moveEnd: (key, from, to) => ask(() => scripts.keyMoveEnd(key, from === Infinity ? -1 : from, Math.ceil(to))),
    members: key => ask(() => client.smembers(key)),
    addMember: async (key, member, at) => void (await ask(() => scripts.sessionAddMember(key, member, Math.ceil(at)))),
    async removeMembers(key, members) {
      if (members.length > 0) await ask(() => client.srem(key, ...members))
    },
    async extend(key, moment) {
      const end = await ask(() => scripts.sessionExtend(key, Math.ceil(moment)))
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

/** Puts one question to Redis. A question that was given up may still be answered, and counts until it is. */
export function createAsk(client: RedisClient, timeout: number): <T>(question: () => Promise<T>) => Promise<T> {
  let underWay = 0
  return question =>
    new Promise((resolve, reject) => {
      const refuse = (why: string): void => reject(new Unavailable(`Redis: ${why}`))
      if (client.status !== 'ready') return refuse('not connected')
      if (underWay >= MAX_UNDER_WAY) return refuse('too many commands are without an answer')
      underWay++
      const timer = setTimeout(refuse, timeout, 'no answer in time')
      const settled = (): void => {
        underWay--
        clearTimeout(timer)
      }
      question().then(
        answer => {
          settled()
          resolve(answer)
        },
        error => {
          settled()
          refuse(summaryOf(error))
        },
      )
    })
}
