import { Cluster } from 'ioredis'
import type { Clock } from '../../../base/clock.ts'
import type { RedisClient } from '../connection/client.ts'
import type { Scripts } from './key-scripts.ts'
import { createReader } from './reader.ts'
import { type KeyReads, MEMBERS_AT_ONCE, type Memory, type Note, type RedisCommands } from './redis-commands.ts'
import type { Ask } from './send-command.ts'

/** The commands of the store on a client. What ended and what was disabled is answered from the memory where Redis may not know. */
export function commandsOn(client: RedisClient, ask: Ask, memory: Memory, clock: Clock): RedisCommands {
  const scripts = client as unknown as Scripts
  return {
    ...readCommands(client, mayBeStale(client, memory), ask, memory, clock),
    ...recordCommands(client, scripts, ask, memory),
    ...disableCommands(scripts, ask, memory),
    ...endCommands(scripts, ask),
    ...memberCommands(client, scripts, ask),
    addEnding: async (key, member, at) => void (await ask(() => scripts.endingAdd(key, member, Math.ceil(at)))),
    addEndingFor: async (key, member, lifetime) =>
      void (await ask(() => scripts.endingAddFor(key, member, Math.ceil(lifetime)))),
    removeEnding: async (key, member) => void (await ask(() => client.zrem(key, member))),
    countEnding: key => ask(() => scripts.endingCount(key)),
    async count(key, window) {
      const [count, timeLeft] = await ask(() => scripts.windowCount(key, window))
      return { count, timeLeft }
    },
    beginAttempt: (key, id, lifetime, most) => ask(() => scripts.attemptBegin(key, id, lifetime, most)),
    raise: async (key, count, window) => (await ask(() => scripts.windowRaise(key, count, window))) === 1,
  }
}

type Part<K extends keyof RedisCommands> = Pick<RedisCommands, K>

const ENDED = Promise.resolve(null)

/** In a Cluster a command may reach a new master before it is known that there is one. */
const mayBeStale = (client: RedisClient, memory: Memory): (() => boolean) =>
  client instanceof Cluster ? () => true : () => !memory.isSettled

export function readCommands(
  reads: KeyReads,
  mayBeStale: () => boolean,
  ask: Ask,
  memory: Memory,
  clock: Clock,
): Part<'get' | 'timeLeft'> {
  const { changes } = memory
  return {
    get: key => (mayBeStale() && changes.isEnded(key) ? ENDED : ask(() => reads.get(key))),
    async timeLeft(key) {
      const known = memory.isSettled ? undefined : memory.changes.disabled(key)
      if (known !== undefined) return known.until > clock.now() ? known.until - clock.now() : null
      // Redis keeps a key until the millisecond of its end is over; here it has ended when that millisecond begins.
      return orNone(await ask(() => reads.pttl(key))) || null
    },
  }
}

function recordCommands(
  client: RedisClient,
  scripts: Scripts,
  ask: Ask,
  memory: Memory,
): Part<'read' | 'set' | 'setFor' | 'create' | 'replace' | 'change' | 'enter' | 'take' | 'delete' | 'revoke'> {
  const { changes } = memory
  const isStale = mayBeStale(client, memory)
  const remove = async (key: string): Promise<boolean> => (await ask(() => client.unlink(key))) === 1
  const set: RedisCommands['set'] = async (key, value, at) =>
    void (await ask(() => client.set(key, value, 'PXAT', Math.ceil(at))))
  const removeNoting = async (key: string, { key: noteKey, value, expiresAt }: Note): Promise<boolean> => {
    if (!(client instanceof Cluster)) {
      return (await ask(() => scripts.sessionEndNoted(key, noteKey, value, Math.ceil(expiresAt)))) === 1
    }
    const removed = await remove(key)
    // What is deleted is ended, whether its note can be stored or not.
    if (removed) await set(noteKey, value, expiresAt).catch(() => undefined)
    return removed
  }
  const read = createReader(client, ask)
  return {
    read: key => (isStale() && changes.isEnded(key) ? ENDED : read(key)),
    set,
    setFor: async (key, value, lifetime) => void (await ask(() => client.set(key, value, 'PX', Math.ceil(lifetime)))),
    create: async (key, value, at) => (await ask(() => client.set(key, value, 'PXAT', Math.ceil(at), 'NX'))) === 'OK',
    replace: async (key, from, to) => (await ask(() => scripts.keyReplace(key, from, to))) === 1,
    change: async (key, from, to, lifetime) =>
      (await ask(() => scripts.keyChange(key, to, Math.ceil(lifetime), ...(from === null ? [] : [from])))) === 1,
    ...(client instanceof Cluster
      ? {}
      : {
          async enter(key, value, set, member, at) {
            await ask(() => scripts.sessionEnter(key, set, member, Math.ceil(at), value))
          },
        }),
    take: key => ask(() => client.getdel(key)),
    delete: remove,
    async revoke(key, note) {
      const passedOn = memory.acknowledge({ kind: 'ended', key, server: memory.server })
      const [deleted] = await Promise.all([note === undefined ? remove(key) : removeNoting(key, note), passedOn])
      return deleted
    },
  }
}

function disableCommands(scripts: Scripts, ask: Ask, memory: Memory): Part<'disable' | 'untie' | 'countKickout'> {
  const change = async (key: string, until: number): Promise<boolean> => {
    const command = until === 0 ? () => scripts.disableUntie(key) : () => scripts.disableSet(key, until)
    const [replaced, version] = await ask(command)
    await memory.acknowledgeDisabled({ key, until, version, replaced: [replaced] })
    return replaced !== -2
  }
  return {
    disable: async (key, until) => void (await change(key, Math.ceil(until))),
    untie: key => change(key, 0),
    async countKickout(key) {
      const count = await ask(() => scripts.kickoutCount(key))
      await memory.acknowledge({ kind: 'kicked', key, server: memory.server, count })
    },
  }
}

function endCommands(scripts: Scripts, ask: Ask): Part<'endOf' | 'moveEnd'> {
  return {
    endOf: async key => orNone(await ask(() => scripts.keyEnd(key))),
    moveEnd: (key, from, to) => ask(() => scripts.keyMoveEnd(key, from === Infinity ? -1 : from, Math.ceil(to))),
  }
}

function memberCommands(
  client: RedisClient,
  scripts: Scripts,
  ask: Ask,
): Part<'someMembers' | 'scanMembers' | 'countMembers' | 'addMember' | 'removeMembers' | 'extend' | 'endWith'> {
  return {
    someMembers: key => ask(() => client.srandmember(key, MEMBERS_AT_ONCE)),
    async scanMembers(key, cursor) {
      const [next, members, server] = await ask(() => scripts.sessionScan(key, cursor, MEMBERS_AT_ONCE))
      return { next, members, server }
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
  }
}

/** A time of Redis: -1 means that a key has no end, -2 that the key does not exist. */
const orNone = (time: number): number | null => (time === -2 ? null : time === -1 ? Number.POSITIVE_INFINITY : time)
