import type { Extra } from '../session.ts'

export type AccountStatus = 'ACTIVE' | 'INACTIVE' | 'LOCKED'

/** A user account from any source, without its password and without a hash of it. */
export interface Account {
  /** The login id: it becomes `user_id` of a session record, and `X-Login-Id`. */
  id: string
  username: string
  status: AccountStatus
  /** Goes into the record's `extra` at login: nickname, avatar, roles, permissions and further fields of the source. */
  extra: Extra
  /** Columns too large for a session, which are not in `extra`, and the kind of the source. */
  leftOut?: { columns: readonly string[]; source: 'sql' | 'http' }
}

/** The rights that an account grants to each of its sessions. */
export interface Rights {
  roles: readonly string[]
  permissions: readonly string[]
}

/**
 * A source of accounts. It verifies passwords itself: a directory binds with the password; a source that holds bcrypt
 * hashes does it through `createHashAccounts`. Absence is `null`; a source that fails throws `Unavailable`, which is never
 * "wrong password".
 */
export interface AccountSource {
  find(username: string): Promise<Account | null>
  /**
   * Whether a password is that of an account from `find`. `null` stands for an unknown name, and for a password that could
   * not be decrypted: every "no" takes the same time, so that the time does not tell which names exist. An empty password
   * fits no account. Fails with `BUSY` when too many verifications wait.
   */
  verify(account: Account | null, password: string | null): Promise<boolean>
  close(): Promise<void>
}

/** The rights of users, from the same accounts and by the same law. */
export interface RightsSource {
  /** The rights of the account with this login id; `null` when there is no such account, or it is not `ACTIVE`. */
  findRights(id: string): Promise<Rights | null>
}

export type Accounts = AccountSource & RightsSource
