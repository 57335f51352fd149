import type { LoginType, SessionRecord } from '../side/record.ts'
import type { Population } from './population.ts'

/*
 * The law of every store. Moments are milliseconds since the epoch. Absence is a value, never an error; a store that
 * cannot answer throws `Unavailable`, within the configured `store.timeout`, so that "not logged in" and "not known"
 * cannot be confused. Every verb done twice leaves what it left once. No verb touches the other side's keys.
 */

/** An answer that some stores have at once and others fetch; the request's path awaits only what has to be awaited. */
export type Prompt<T> = T | Promise<T>

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

export interface SessionStore {
  /**
   * Stores the record of a new token and adds the token to its user's set, whose lifetime becomes at least the
   * token's. Refuses while the login id is disabled. An `add` that overlaps a `removeAll` of the same user is refused,
   * or the token is found and ended by it; it never leaves a token that cannot be ended.
   */
  add(type: LoginType, token: string, record: SessionRecord, expiresAt: number): Promise<Admission>

  /** The live record of a token; `null` when there is none on this side. Sees every deletion acknowledged before it was asked. */
  find(type: LoginType, token: string): Prompt<SessionRecord | null>

  /** Ends one token of a user. `false`, and nothing changed, when it is not a live token of that user. */
  remove(type: LoginType, userId: string, token: string): Promise<boolean>

  /** Ends every token that the user had when asked, and answers how many were live. */
  removeAll(type: LoginType, userId: string): Promise<number>

  /** Sets a new end of life for a live token and lets the set outlive it. `false` when it is not live: it is never created. */
  renew(type: LoginType, userId: string, token: string, expiresAt: number): Promise<boolean>

  /** The live tokens of a user, oldest first (`created_at`, then the token's `iat`). Empty when there are none. */
  tokens(type: LoginType, userId: string): Promise<StoredToken[]>

  /** When a live token ends; `null` when there is none, `Infinity` when it has no end. */
  tokenExpiresAt(type: LoginType, token: string): Promise<number | null>

  /** When the user's session set ends; `null` when the user has no live token. Never before the longest-living token. */
  sessionExpiresAt(type: LoginType, userId: string): Promise<number | null>

  /** Bars a login id until then; a later call replaces the moment, also with an earlier one. */
  disable(type: LoginType, userId: string, until: number): Promise<void>

  /** Until when a login id is barred; `null` when it is not. */
  disabledUntil(type: LoginType, userId: string): Prompt<number | null>

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

export interface Store {
  readonly sessions: SessionStore
  readonly population: Population
  readonly captchas: CaptchaStore
  readonly attempts: AttemptStore
  /** Resolves when the store answers, throws `Unavailable` when it does not. */
  ping(): Promise<void>
  /** What an operator should know about the way the store is set up; empty when nothing is wrong with it. */
  warnings(): Promise<string[]>
  /** Lets what is under way finish, then gives up connections and files. */
  close(): Promise<void>
}
