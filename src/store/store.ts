import type { MaybePromise } from '../base/maybe-promise.ts'
import { type Outage, Unavailable } from '../base/refusal.ts'
import type { EndReason } from '../session/end-reason.ts'
import type { Extra, SessionRecord } from '../session/record.ts'
import type { LoginType } from '../session/sides.ts'
import type { Changes } from './changes.ts'
import type { CredentialStore } from './credentials.ts'
import type { FactorStore } from './factors.ts'
import type { JournalStore } from './journal.ts'
import type { OnlineUsers } from './online.ts'

/*
 * The contract of every store. Timestamps are milliseconds since the epoch. Absence is a value, never an error. A store
 * that cannot answer throws `Unavailable` within the configured `store.timeout`, so that "not logged in" and "not
 * known" cannot be confused. Every operation is idempotent. No operation touches the other side's keys. For a user with
 * many tokens, an operation handles some hundred of them at a time and lets other requests run in between.
 */

export type Admission =
  | { admitted: true }
  /** Refused: the login id is disabled until then, or (`null`) sessions of the same user were ended at the same time. */
  | { admitted: false; disabledUntil: number | null }

export interface StoredToken {
  token: string
  record: SessionRecord
  /** `Infinity` for a record that another program stored without a lifetime. */
  expiresAt: number
}

/** The overview of a user with live tokens. */
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

/** Why tokens are ended, for their clients. */
export interface EndNote {
  readonly reason: EndReason
  /** Until when the reason is kept. */
  readonly until: number
}

/** Of a verb that had ended so many tokens, or more, when the store failed. */
export class EndedSome extends Unavailable {
  readonly ended: number

  constructor(ended: number, fault: Unavailable) {
    super((fault.cause as Outage).message, (fault.cause as Outage).cause)
    this.ended = ended
  }
}

/** What a verb throws that has ended some tokens before this fault. */
export const afterEnding = (ended: number, fault: unknown): unknown =>
  ended > 0 && fault instanceof Unavailable ? new EndedSome(ended, fault) : fault

/** Makes another `extra` of the stored one of a session. */
export type ExtraOf = (stored: Extra) => Extra

/** The end of a session: a timestamp, or what makes it of the stored `extra`. */
export type EndOf = number | ((stored: Extra) => number)

export const endIn = (end: EndOf, stored: Extra): number => (typeof end === 'number' ? end : end(stored))

/**
 * A verb that ends tokens keeps its `note` for each token that it ended itself, so of several at once the one that ended the
 * token decides. The reason can be read when the verb is acknowledged. A Redis that is full may store no notes, but ends tokens.
 */
export interface SessionStore {
  /**
   * Stores the record of a new token and adds the token to its user's set, whose lifetime becomes at least the
   * token's. Refuses while the login id is disabled. An `add` that overlaps a `removeAll` of the same user is refused,
   * or the token is found and ended by it; it never leaves a token that cannot be ended. The same holds for `removeOthers`.
   */
  add(type: LoginType, token: string, record: SessionRecord, expiresAt: number): Promise<Admission>

  /** The live record of a token; `null` if this side has none. Sees every deletion acknowledged before the call. */
  find(type: LoginType, token: string): MaybePromise<SessionRecord | null>

  /** Ends one token of a user. Returns `false` and changes nothing if it is not a live token of that user. */
  remove(type: LoginType, userId: string, token: string, note?: EndNote): Promise<boolean>

  /** Ends every token that the user had at the call, and returns how many were live. Throws `EndedSome` if it fails in the middle. */
  removeAll(type: LoginType, userId: string, note?: EndNote): Promise<number>

  /** As `removeAll`, but never ends the token `spared`. */
  removeOthers(type: LoginType, userId: string, spared: string, note?: EndNote): Promise<number>

  /** Sets a new end for a live token and lets the set outlive it. `false` if it is not live: it is never created. */
  renew(type: LoginType, userId: string, token: string, end: EndOf): Promise<boolean>

  /**
   * Writes another `extra` into the record of a live token of a user, which keeps its end: `extraOf` makes it of the stored one.
   * `false` if it is not one: it is never created, and never brought back. All else of the stored record stays. Of several at the same
   * time, in any process, each is made of the one before, so `extraOf` may be called again.
   */
  replaceRecord(type: LoginType, userId: string, token: string, extraOf: ExtraOf): Promise<boolean>

  /** Ends some tokens of a user, and returns those that were live tokens of that user. */
  removeSome(type: LoginType, userId: string, tokens: readonly string[], note?: EndNote): Promise<string[]>

  /** Why a token was ended; `null` if it was not ended or expired, or without a note that is still kept. */
  whyEnded(type: LoginType, token: string): MaybePromise<EndReason | null>

  /**
   * The live tokens of a user, oldest first (`created_at`, then the token's `iat`). Empty without live tokens. Of more
   * than `limit`, `LISTED_AT_MOST` unless it is given, the newest.
   */
  tokens(type: LoginType, userId: string, limit?: number): Promise<StoredToken[]>

  /**
   * All live tokens of a user, about a hundred at a time, each once and unordered. Tokens that exist from the first
   * batch to the last are all included.
   */
  batches(type: LoginType, userId: string): AsyncIterable<StoredToken[]>

  /** The number of tokens of a user. Returned at once for any number, so recently expired ones may be included. */
  count(type: LoginType, userId: string): Promise<number>

  /** What is shown of a user; `null` when there is no live token. */
  overview(type: LoginType, userId: string): Promise<Overview | null>

  /** When a live token ends; `null` if it is not live, `Infinity` if it has no end. */
  tokenExpiresAt(type: LoginType, token: string): Promise<number | null>

  /** When the user's session set ends; `null` when the user has no live token. Never before the longest-living token. */
  sessionExpiresAt(type: LoginType, userId: string): Promise<number | null>

  /** Disables a login id until then; a later call replaces the timestamp, also with an earlier one. */
  disable(type: LoginType, userId: string, until: number): Promise<void>

  /** Until when a login id is disabled; `null` if it is not. */
  disabledUntil(type: LoginType, userId: string): MaybePromise<number | null>

  /**
   * The same for requests by key. Answers at once where the store remembers sessions of the side. A change by another process is
   * known as soon as that of a session is or, in the embedded store, within a tenth of a second.
   */
  rememberedDisable(type: LoginType, userId: string): MaybePromise<number | null>

  /** Enables a login id again; `false` if it was not disabled. */
  untieDisable(type: LoginType, userId: string): Promise<boolean>
}

/** Captcha answers: each can be read at most once, right or wrong. */
export interface CaptchaStore {
  put(type: LoginType, id: string, answer: string, expiresAt: number): Promise<void>
  /** Removes and returns the answer; `null` without one. */
  take(type: LoginType, id: string): Promise<string | null>
  /** The number of outstanding captchas of a side. Captchas that expired less than a minute ago may be included. */
  outstanding(type: LoginType): Promise<number>
}

/**
 * Short-lived texts that an operation in several requests keeps from one request to the next. The operation chooses the ids:
 * up to 128 characters, without control characters and unpaired surrogates. A Redis server that takes over after a failover
 * may return a text that was taken before.
 */
export interface TicketStore {
  /** Stores a text until then. Replaces the text of the same id, and its end. */
  put(type: LoginType, id: string, text: string, expiresAt: number): Promise<void>
  /** The text of an id, which stays; `null` without one. */
  read(type: LoginType, id: string): Promise<string | null>
  /**
   * Stores a text in place of the one that `read` answered, `null` if there was none, until the later end of the two. `false`,
   * and nothing changes, if another one has been stored since.
   */
  replace(type: LoginType, id: string, known: string | null, text: string, expiresAt: number): Promise<boolean>
  /** Removes and returns the text. Of several simultaneous calls, in any process, one gets it; the others get `null`. */
  take(type: LoginType, id: string): Promise<string | null>
}

export interface Attempts {
  count: number
  /** When the window that counts them ends. */
  resetsAt: number
}

/**
 * Counters in fixed windows, and attempts under way, shared by all workers and gateways of the store: rate limits and lockouts.
 */
export interface AttemptStore {
  /** Counts one more. The first of a window opens it for `window` milliseconds; later ones do not extend it. */
  count(name: string, window: number): Promise<Attempts>
  /**
   * Begins an attempt unless `most` of this name are under way, and answers how many are with it; `null` if it did not begin: of
   * several calls at once, `most` do. It is under way until `end`, and for `lifetime` milliseconds at most: its process may be
   * killed. These names have nothing to do with those of counters, nor `clear` with them.
   */
  begin(name: string, id: string, lifetime: number, most: number): Promise<number | null>
  /** Ends an attempt; nothing if it has ended. */
  end(name: string, id: string): Promise<void>
  /** The present count, without counting. `null` if no window is open. */
  read(name: string): Promise<Attempts | null>
  /** Sets the count and the timestamp at which it expires. */
  set(name: string, count: number, resetsAt: number): Promise<void>
  /**
   * Sets the count for `window` milliseconds if it is greater than the present one, and answers whether it did: of several
   * calls with one value, exactly one.
   */
  raise(name: string, count: number, window: number): Promise<boolean>
  clear(name: string): Promise<void>
}

/** Statistics of one side's session cache since the start. */
export interface CacheCounts {
  /** Sessions in the cache now. */
  readonly entries: number
  readonly hits: number
  readonly misses: number
  readonly evictions: number
}

/** A store's counters of this process, for metrics. */
export interface StoreCounts {
  /** For the sides with a session cache. */
  readonly caches: Partial<Record<LoginType, CacheCounts>>
  /** Changes that the file did not take; absent in a store without one. */
  readonly failedWrites?: number
}

export interface Store {
  readonly sessions: SessionStore
  readonly credentials: CredentialStore
  readonly factors: FactorStore
  readonly online: OnlineUsers
  readonly captchas: CaptchaStore
  readonly tickets: TicketStore
  readonly attempts: AttemptStore
  readonly journal: JournalStore
  readonly changes: Changes
  /** Whether replicas have all earlier changes; absent if replicas are not checked. */
  readonly isReplicated?: () => Promise<boolean>
  counts(): StoreCounts
  /** Resolves if the store answers; throws `Unavailable` otherwise. */
  ping(): Promise<void>
  /** Warnings about the configuration of the store; may be empty. */
  warnings(): Promise<string[]>
  /** Lets operations in progress finish, then closes connections and files. */
  close(): Promise<void>
}
