import type { RedisCommands } from '../../../src/store/redis/commands/redis-commands.ts'
import type { OwnCommands as CredentialCommands } from '../../../src/store/redis/credentials/commands.ts'
import { clockOf } from '../../support/clock.ts'

/** A sorted set is a map of its members' scores. */
type Value = string | Set<string> | Map<string, number>

interface Entry {
  value: Value
  endsAt: number
}

export type Commands = RedisCommands & CredentialCommands

/** Without those that no Cluster has: each step is on one key. */
type Command = Exclude<keyof Commands, 'enter'>

/** Redis as its commands see it: keys that end, one command after the other. Its time is a number that a test moves. */
export class ModelRedis {
  now = 1_000_000
  readonly clock = clockOf(() => this.now)
  readonly #entries = new Map<string, Entry>()

  entry(key: string): Entry | null {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.endsAt > this.now) return entry ?? null
    this.#entries.delete(key)
    return null
  }

  keys(): string[] {
    return [...this.#entries.keys()].filter(key => this.entry(key) !== null).sort()
  }

  /** Everything it holds; two that hold the same print the same. */
  print(): string {
    return this.keys()
      .map(key => {
        const { value, endsAt } = this.entry(key)!
        const held = typeof value === 'string' ? value : [...value].map(String).sort().join()
        return `${key}=${held}@${endsAt - this.now}`
      })
      .join('\n')
  }

  /** Each command as it happens, at once. */
  readonly commands: { [C in Command]: (...args: Parameters<Commands[C]>) => unknown } = {
    get: key => this.#text(key),
    read: key => this.#text(key),
    set: (key, value, endsAt) => this.#put(key, value, endsAt),
    setFor: (key, value, lifetime) => this.#put(key, value, this.now + lifetime),
    create: (key, value, endsAt) => {
      if (this.entry(key) !== null) return false
      this.#put(key, value, endsAt)
      return true
    },
    replace: (key, from, to) => {
      const entry = this.entry(key)
      if (entry?.value !== from) return false
      this.#put(key, to, entry.endsAt)
      return true
    },
    change: (key, from, to, lifetime) => {
      const entry = this.entry(key)
      if ((entry?.value ?? null) !== from) return false
      this.#put(key, to, Math.max(this.now + lifetime, entry?.endsAt ?? 0))
      return true
    },
    take: key => {
      const value = this.#text(key)
      this.#entries.delete(key)
      return value
    },
    delete: key => this.entry(key) !== null && this.#entries.delete(key),
    revoke: key => this.commands.delete(key),
    disable: (key, until) => this.#put(key, '1', until),
    untie: key => this.commands.delete(key),
    countKickout: key => this.commands.count(key, 300_000),
    timeLeft: key => {
      const entry = this.entry(key)
      return entry === null ? null : entry.endsAt - this.now
    },
    endOf: key => this.entry(key)?.endsAt ?? null,
    moveEnd: (key, from, to) => {
      const entry = this.entry(key)
      if (entry === null) return 'gone'
      if (entry.endsAt !== from) return 'changed'
      if (to === from) return 'same'
      entry.endsAt = to
      return 'moved'
    },
    // Two at a time, the fewest that show that there is another member: a batch of hundreds leaves no more open.
    someMembers: key => [...this.#members(key)].sort().slice(0, 2),
    scanMembers: (key, cursor) => {
      const members = [...this.#members(key)].sort().filter(member => cursor === '0' || member > cursor)
      return { next: members.length > 1 ? members[0] : '0', members: members.slice(0, 1), server: 'one' }
    },
    countMembers: key => this.#members(key).size,
    addMember: (key, member, endsAt) => {
      const existed = this.entry(key)
      if (existed === null) return this.#put(key, new Set([member]), endsAt)
      this.#members(key).add(member)
      existed.endsAt = Math.max(existed.endsAt, endsAt)
    },
    removeMembers: (key, members) => {
      const set = this.#members(key)
      for (const member of members) set.delete(member)
      if (set.size === 0) this.#entries.delete(key)
    },
    extend: (key, timestamp) => {
      const entry = this.entry(key)
      if (entry === null || entry.endsAt === Infinity) return null
      entry.endsAt = Math.max(entry.endsAt + 1, timestamp)
      return entry.endsAt
    },
    endWith: (key, member, from, to) => {
      const entry = this.entry(key)
      const members = this.#members(key)
      if (entry?.endsAt === from && members.size === 1 && members.has(member)) entry.endsAt = to
    },
    // No session is in a set of these: its members end with it.
    addEnding: (key, member, endsAt) => this.commands.addMember(key, member, endsAt),
    addEndingFor: (key, member, lifetime) => this.commands.addMember(key, member, this.now + lifetime),
    removeEnding: (key, member) => this.commands.removeMembers(key, [member]),
    countEnding: key => this.#members(key).size,
    count: (key, window) => {
      const count = Number(this.#text(key) ?? 0) + 1
      this.#put(key, String(count), this.entry(key)?.endsAt ?? this.now + window)
      return { count, timeLeft: this.entry(key)!.endsAt - this.now }
    },
    // No session begins or ends with it.
    beginAttempt: () => 1,
    raise: (key, count, window) => {
      const isGreater = count > Number(this.#text(key) ?? 0)
      if (isGreater) this.#put(key, String(count), this.now + window)
      return isGreater
    },
    hold: (key, text, lifetime) => this.commands.create(key, text, this.now + lifetime),
    activate: (key, from, to, endsAt) => {
      if (this.#text(key) !== from) return false
      this.#put(key, to, endsAt)
      return true
    },
    exchange: (key, from, to, until) => {
      const entry = this.entry(key)
      if (entry?.value !== from) return false
      this.#put(key, to, Math.min(entry.endsAt, until))
      return true
    },
    reserve: (list, id, endsAt, most) => {
      const counting = [...this.#scores(list)].filter(([member, end]) => member[0] === '+' && end > this.now)
      return counting.length < most ? this.#enterList(list, id, endsAt) : null
    },
    takePlace: (list, id, endsAt, of, before) => {
      const scores = this.#scores(list)
      const end = scores.get(`+${of}`) ?? scores.get(`-${of}`)
      if (end === undefined) return null
      scores.delete(`+${of}`)
      scores.delete(`+${before}`)
      scores.set(`-${of}`, end)
      return this.#enterList(list, id, endsAt)
    },
    giveBack: (list, id, of) => {
      const scores = this.#scores(list)
      const end = scores.get(`-${of}`)
      const hadPlace = scores.delete(`+${id}`)
      if (hadPlace && end !== undefined) {
        scores.delete(`-${of}`)
        scores.set(`+${of}`, end)
      }
      if (scores.size === 0) this.#entries.delete(list)
    },
    listed: list => [...this.#scores(list).keys()].map(member => member.slice(1)),
    release: (list, ids) => {
      const scores = this.#scores(list)
      for (const id of ids) for (const flag of ['+', '-']) scores.delete(flag + id)
      if (scores.size === 0) this.#entries.delete(list)
    },
    removeEndings: (key, members) => this.commands.removeMembers(key, members),
    pageEnding: key => ({ total: this.#members(key).size, members: [...this.#members(key)] }),
    someEnding: key => ({ next: '0', members: [...this.#members(key)] }),
  }

  /** Answers the same each time: no law depends on when it was. */
  #enterList(list: string, id: string, endsAt: number): number {
    const scores = this.#scores(list).set(`+${id}`, endsAt)
    this.#put(list, scores, Math.max(endsAt, this.entry(list)?.endsAt ?? 0))
    return 1
  }

  #put(key: string, value: Value, endsAt: number): void {
    this.#entries.set(key, { value, endsAt })
  }

  #text(key: string): string | null {
    const value = this.entry(key)?.value ?? null
    if (value !== null && typeof value !== 'string') throw new Error('WRONGTYPE')
    return value
  }

  #members(key: string): Set<string> {
    const value = this.entry(key)?.value ?? new Set<string>()
    if (!(value instanceof Set)) throw new Error('WRONGTYPE')
    return value
  }

  #scores(key: string): Map<string, number> {
    const value = this.entry(key)?.value ?? new Map<string, number>()
    if (!(value instanceof Map)) throw new Error('WRONGTYPE')
    return value
  }
}
