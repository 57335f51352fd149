import type { LoginType } from '../session.ts'

/*
 * Who is online: the session administration's view of a side. The specified keys are the truth; what is told here
 * stands beside them, is kept in step by the verbs of `SessionStore`, and converges with records that other programs
 * wrote or deleted. Every question but `reindex` costs O(log n + answer), however many are online.
 */

export interface PageQuery {
  offset: number
  limit: number
  /** A user id exactly, or a part of a username or nickname in any case. Absent or empty: everybody. */
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

export interface OnlineUsers {
  page(type: LoginType, query: PageQuery): Promise<UserPage>

  tally(type: LoginType): Promise<Tally>

  /** Logins on each of the given days (`YYYY-MM-DD` as in `created_at`), whatever became of the sessions. */
  loginsOn(type: LoginType, days: readonly string[]): Promise<number[]>

  /** Logins since a moment of the last 24 hours, to the minute, whatever became of the sessions. */
  loginsSince(type: LoginType, timestamp: number): Promise<number>

  /**
   * Builds the view anew from the specified keys while the gateway goes on serving; can be interrupted and run again.
   * `progress` is told how many of about how many tokens were looked at. Answers how many live tokens there are.
   */
  reindex(type: LoginType, progress: (done: number, total: number) => void): Promise<number>
}
