import type { LoginType } from '../session/sides.ts'

/*
 * The online users of a side, for the session administration. The specified keys are the truth. These indexes are
 * stored beside them, are updated by the operations of `SessionStore`, and follow records that other programs wrote or
 * deleted. Every query except `reindex` costs O(log n + answer), for any number of online users.
 */

export interface PageQuery {
  offset: number
  limit: number
  /** An exact user id, or a part of a username or nickname in any case. Absent or empty: all users. */
  keyword?: string
}

export interface UserPage {
  /** How many users the query finds. */
  total: number
  /** The users of the page, the most recent login first. */
  userIds: string[]
}

export interface Tally {
  /** Users with at least one live token. */
  users: number
  /** Live tokens. */
  tokens: number
  /** The most live tokens that any one user has. */
  maxTokensPerUser: number
}

/** Disabled login ids that are listed. Of more, any of them are. */
export const DISABLED_AT_MOST = 10_000

export interface OnlineUsers {
  page(type: LoginType, query: PageQuery): Promise<UserPage>

  /**
   * The disabled login ids, online or not: those first that are enabled next. `total` is at most `DISABLED_AT_MOST`. Costs no more
   * for any number of sessions. One that was enabled, or disabled, by another program may still, or not yet, be listed.
   */
  disabled(type: LoginType, query: Pick<PageQuery, 'offset' | 'limit'>): Promise<UserPage>

  tally(type: LoginType): Promise<Tally>

  /**
   * Every user with a live token, some at a time and unordered. A user who has one from the first batch to the last is
   * included, perhaps twice; some may have none any more.
   */
  users(type: LoginType): AsyncIterable<string[]>

  /** Logins on each of the given days (`YYYY-MM-DD` as in `created_at`), including ended sessions. */
  loginsOn(type: LoginType, days: readonly string[]): Promise<number[]>

  /** Logins since a timestamp within the last 24 hours, to the minute, including ended sessions. */
  loginsSince(type: LoginType, timestamp: number): Promise<number>

  /**
   * Rebuilds the online users from the specified keys while the gateway continues to serve; can be interrupted and run
   * again. `progress` is called with the number of checked tokens and the approximate total. Returns the number of live
   * tokens.
   */
  reindex(type: LoginType, progress: (done: number, total: number) => void): Promise<number>
}
