import type { Extra } from '../session.ts'

export type AccountStatus = 'ACTIVE' | 'INACTIVE' | 'LOCKED'

/** A user account as every source answers it. */
export interface Account {
  /** The login id: what `user_id` of a session record and `X-Login-Id` become. */
  id: string
  username: string
  /** A bcrypt hash: `$2a$`, `$2b$` or `$2y$`. */
  passwordHash: string
  status: AccountStatus
  /** Goes into the record's `extra` at login: nickname, avatar, roles, permissions and whatever else the source holds. */
  extra: Extra
  /** What the source holds beyond what a session may: the columns that are not in `extra`, and the kind of the source. */
  leftOut?: { columns: readonly string[]; source: 'sql' | 'http' }
}

/** What an account grants to each of its sessions. */
export interface Rights {
  roles: readonly string[]
  permissions: readonly string[]
}

/** Where accounts are looked up. Absence is `null`; a source that fails throws `Unavailable`, which is never "wrong password". */
export interface AccountSource {
  findByUsername(username: string): Promise<Account | null>
  /** The highest cost among the bcrypt hashes of the last look-up's accounts; absent from a source that sees one at a time. */
  highestCost?(): number
  close(): Promise<void>
}

/** Where the rights of users are looked up, by the same accounts and with the same law. */
export interface RightsSource {
  /** What the account with this login id may do; `null` when there is none, or it is not `ACTIVE`. */
  findRights(id: string): Promise<Rights | null>
}

export type Accounts = AccountSource & RightsSource
