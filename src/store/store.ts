import type { LoginType, SessionRecord } from '../session.ts'
import type { Changes } from './changes.ts'
import type { OnlineUsers } from './online.ts'

/*
 * The law of every store. Moments are milliseconds since the epoch. Absence is a value, never an error; a store that
 * cannot answer throws `Unavailable`, within the configured `store.timeout`, so that "not logged in" and "not known"
 * cannot be confused. Every verb done twice leaves what it left once. No verb touches the other side's keys. However many
 * tokens a user has, a verb works on some hundred of them at a time and lets others have their turn in between.
 */

/** An answer that some stores have at once and others fetch; the request's path awaits only what has to be awaited. */
export type MaybePromise<T> = T | Promise<T>

export type Admission =
  | { admitted: true }
  /** Refused: the login id is disabled until then, or (`null`) a kickout of the same user ran at the same time. */
  | { admitted: false; disabledUntil: number | null }

export interface StoredToken {
  token: string
  record: SessionRecord
  /** `Infinity` for a record that another program stored without a lifetime. */
  expiresAt: number
}

/** What is shown of a user with live tokens. */
export interface Overview {
  /** Live tokens. */
  count: number
  first: StoredToken
  newest: StoredToken
  /** When the last of them ends. */
  expiresAt: number
}

/**
 * Tokens of a user from which the overview is made. Of a user with more, a store may make it from so many of them, and
 * count those that have just expired.
 */
export const SURVEYED = 1000

/** Tokens of a user that are listed unless a limit is given. */
export const LISTED_AT_MOST = 10_000

export interface SessionStore {
  /**
   * Stores the record of a new token and adds the token to its user's set, whose lifetime becomes at least the
   * token's. Refuses while the login id is disabled. An `add` that overlaps a `removeAll` of the same user is refused,
   * or the token is found and ended by it; it never leaves a token that cannot be ended.
   */
  add(type: LoginType, token: string, record: SessionRecord, expiresAt: number): Promise<Admission>

  /** The live record of a token; `null` when there is none on this side. Sees every deletion acknowledged before it was asked. */
  find(type: LoginType, token: string): MaybePromise<SessionRecord | null>

  /** Ends one token of a user. `false`, and nothing changed, when it is not a live token of that user. */
  remove(type: LoginType, userId: string, token: string): Promise<boolean>

  /** Ends every token that the user had when asked, and answers how many were live. */
  removeAll(type: LoginType, userId: string): Promise<number>

  /** Sets a new end of life for a live token and lets the set outlive it. `false` when it is not live: it is never created. */
  renew(type: LoginType, userId: string, token: string, expiresAt: number): Promise<boolean>

  /** Ends some tokens of a user, and answers which of them were live tokens of that user. */
  removeSome(type: LoginType, userId: string, tokens: readonly string[]): Promise<string[]>

  /**
   * The live tokens of a user, oldest first (`created_at`, then the token's `iat`). Empty when there are none. Of more than `limit`,
   * `LISTED_AT_MOST` unless it is given, the newest.
   */
  tokens(type: LoginType, userId: string, limit?: number): Promise<StoredToken[]>

  /**
   * All live tokens of a user, a hundred or so at a time, each once and in no order. Which were stored, and not ended, from
   * the first batch to the last are all there.
   */
  batches(type: LoginType, userId: string): AsyncIterable<StoredToken[]>

  /** How many tokens a user has; at once however many, and therefore with those that expired lately. */
  count(type: LoginType, userId: string): Promise<number>

  /** What is shown of a user; `null` when there is no live token. */
  overview(type: LoginType, userId: string): Promise<Overview | null>

  /** When a live token ends; `null` when there is none, `Infinity` when it has no end. */
  tokenExpiresAt(type: LoginType, token: string): Promise<number | null>

  /** When the user's session set ends; `null` when the user has no live token. Never before the longest-living token. */
  sessionExpiresAt(type: LoginType, userId: string): Promise<number | null>

  /** Bars a login id until then; a later call replaces the moment, also with an earlier one. */
  disable(type: LoginType, userId: string, until: number): Promise<void>

  /** Until when a login id is barred; `null` when it is not. */
  disabledUntil(type: LoginType, userId: string): MaybePromise<number | null>

  /** Removes the bar; `false` when there was none. */
  untieDisable(type: LoginType, userId: string): Promise<boolean>
}

/** Captcha answers: each is given out at most once, right or wrong. */
export interface CaptchaStore {
  put(type: LoginType, id: string, answer: string, expiresAt: number): Promise<void>
  /** The answer, which is gone from then on; `null` when there is none. */
  take(type: LoginType, id: string): Promise<string | null>
  /** How many of a side can still be taken. Captchas that ended less than a minute ago may be counted with them. */
  outstanding(type: LoginType): Promise<number>
}

export interface Attempts {
  count: number
  /** When the window that counts them ends. */
  resetsAt: number
}

/** Counters in fixed windows, shared by all workers and gateways of the store: rate limits and lockouts. */
export interface AttemptStore {
  /** Counts one more. The first of a window opens it for `window` milliseconds; later ones do not extend it. */
  count(name: string, window: number): Promise<Attempts>
  /** What was counted, without counting. `null` when no window is open. */
  read(name: string): Promise<Attempts | null>
  /** Sets the count and the moment it is forgotten. */
  set(name: string, count: number, resetsAt: number): Promise<void>
  clear(name: string): Promise<void>
}

/** What came of the sessions of one side that this process remembers, since the start. */
export interface CacheCounts {
  /** Sessions that are remembered now. */
  readonly entries: number
  readonly hits: number
  readonly misses: number
  readonly evictions: number
}

/** What a store counts in this process, for metrics. */
export interface StoreCounts {
  /** Of the sides whose sessions this process remembers. */
  readonly caches: Partial<Record<LoginType, CacheCounts>>
}

export interface Store {
  readonly sessions: SessionStore
  readonly online: OnlineUsers
  readonly captchas: CaptchaStore
  readonly attempts: AttemptStore
  readonly changes: Changes
  /** Whether replicas have everything that was changed before; absent where replicas are not asked. */
  readonly isReplicated?: () => Promise<boolean>
  counts(): StoreCounts
  /** Resolves when the store answers, throws `Unavailable` when it does not. */
  ping(): Promise<void>
  /** What an operator should know about the way the store is set up; empty when nothing is wrong with it. */
  warnings(): Promise<string[]>
  /** Lets what is under way finish, then gives up connections and files. */
  close(): Promise<void>
}
