import type { Clock } from '../../../base/clock.ts'
import type { Acknowledged, AcknowledgedChanges, Disabled } from '../../acknowledged-changes.ts'

/*
 * The commands that the store sends to Redis: on one key each, because the specified key shapes fall into different
 * slots of a Cluster. Timestamps are milliseconds since the epoch. Every command throws `Unavailable` when Redis does not
 * answer it in time; it may have happened all the same.
 */
export interface RedisCommands {
  get(key: string): Promise<string | null>
  /** The same for a request: all reads of a turn of the event loop are one command. */
  read(key: string): Promise<string | null>
  set(key: string, value: string, expiresAt: number): Promise<void>
  /** Sets a key that ends after so many milliseconds by the clock of Redis. */
  setFor(key: string, value: string, lifetime: number): Promise<void>
  /** Sets a key that must not exist yet. */
  create(key: string, value: string, expiresAt: number): Promise<boolean>
  /** Replaces the value `from` of a key, which keeps its end. `false` if it has another one, and without the key. */
  replace(key: string, from: string, to: string): Promise<boolean>
  /**
   * Sets a key that has the value `from`, or with `null` does not exist. It ends after so many milliseconds by the clock of Redis,
   * or with its present end if that is later. `false`, and nothing changes, if it has another value.
   */
  change(key: string, from: string | null, to: string, lifetime: number): Promise<boolean>
  /**
   * `create` and `addMember` in one, for a replica, too: one that takes over has both or neither. Absent in a Cluster,
   * where the two keys lie in different slots.
   */
  enter?(key: string, value: string, set: string, member: string, expiresAt: number): Promise<void>
  /** The value, which is gone from then on. */
  take(key: string): Promise<string | null>
  /** `false` when there was nothing to delete. */
  delete(key: string): Promise<boolean>
  /**
   * The same of a token's record, for good: it is repeated on a server that takes over and does not know it. If there was
   * a record, `note` is stored: in one step, or in a Cluster, where the keys lie in different slots, right after it.
   */
  revoke(key: string, note?: Note): Promise<boolean>
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

  /** Some members of a set, any of them, `MEMBERS_AT_ONCE` at most; empty without the set. */
  someMembers(key: string): Promise<string[]>
  /**
   * Some members and where to go on; begins at `'0'` and ends there. Who is a member from the first page to the last is on
   * one of them, perhaps twice, if `server` is the same on all of them: each process of Redis has an order of its own, and a
   * cursor means nothing to another one.
   */
  scanMembers(key: string, cursor: string): Promise<{ next: string; members: string[]; server: string }>
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
  /** Lets a set end with its only member, unless it has others or its end is no longer the one that `extend` answered. */
  endWith(key: string, member: string, from: number, to: number): Promise<void>

  /** Adds a member that ends by itself to a sorted set, which ends with the last of them. */
  addEnding(key: string, member: string, expiresAt: number): Promise<void>
  /** The same of one that ends after so many milliseconds by the clock of Redis. */
  addEndingFor(key: string, member: string, lifetime: number): Promise<void>
  removeEnding(key: string, member: string): Promise<void>
  /** How many members have not ended. */
  countEnding(key: string): Promise<number>

  /** Counts one more; the first opens a window of so many milliseconds, later ones do not extend it. */
  count(key: string, window: number): Promise<{ count: number; timeLeft: number }>
  /**
   * Adds an attempt to a sorted set, unless so many are in it, from which it ends by itself after so many milliseconds. Answers
   * how many are in it then; 0 if it was not added.
   */
  beginAttempt(key: string, id: string, lifetime: number, most: number): Promise<number>
  /** Sets a count for so many milliseconds if it is greater than the present one; `false` if it is not. */
  raise(key: string, count: number, window: number): Promise<boolean>
}

/**
 * Milliseconds until something ends, one at least. The clocks of Redis and of the gateway may differ by more than what lasts for some
 * minutes: so Redis gets how long it lasts, and not when it ends.
 */
export const lifetimeUntil = (endsAt: number, clock: Clock): number => Math.max(1, endsAt - clock.now())

/**
 * Members of a set that one command reads. Each of them leads to further commands: so many take the gateway some
 * milliseconds, and Redis less.
 */
export const MEMBERS_AT_ONCE = 100

/** Something that is stored with a change if it can be. */
export interface Note {
  readonly key: string
  readonly value: string
  readonly expiresAt: number
}

/** Remembers what was acknowledged, for servers that take over. */
export interface Memory {
  readonly changes: Pick<AcknowledgedChanges, 'isEnded' | 'disabled'>
  /** Whether every server that is asked has everything that is remembered. */
  readonly isSettled: boolean
  /** The id of the server that answers; empty while none is checked. */
  readonly server: string
  /** Resolves when the change may be acknowledged. */
  acknowledge(change: Acknowledged): Promise<void>
  acknowledgeDisabled(change: Omit<Disabled, 'kind' | 'server'>): Promise<void>
}

/** Reads of single keys, by a client or by a choice of its servers. */
export interface KeyReads {
  get(key: string): Promise<string | null>
  pttl(key: string): Promise<number>
}
