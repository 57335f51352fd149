import { type Outage, Unavailable } from '../base/refusal.ts'
import type { Extra } from '../session/record.ts'
import type { AccountManagement, AccountStatus } from './management.ts'
import type { AccountChange } from './version.ts'

export type { AccountStatus } from './management.ts'

/** Of usernames, in UTF-16 units: longer ones cannot be typed at a login, and may not fit into a session. */
export const MAX_USERNAME_LENGTH = 128

/** An account from any source, without its password and without a hash of it. */
export interface Account {
  /** The login id: it becomes `user_id` of a session record, and `X-Login-Id`. */
  id: string
  username: string
  status: AccountStatus
  /** A service account, for programs: it has no password and no second factor, and cannot sign in. */
  service?: true
  /** When the service account was added, as the source writes it; absent if it does not say so. */
  added?: string
  /** Goes into the record's `extra` at login: nickname, avatar, roles, permissions and further fields of the source. */
  extra: Extra
  leftOut?: LeftOut
  /** Changes with the password, the rights and the second factor (`version.ts`); absent in a source that cannot tell. */
  version?: string
  /** Changes with the password and with a reset of the second factor alone (`version.ts`); absent where `version` is. */
  credentialVersion?: string
  /** The second factor, sealed (`version.ts` says what stands before it). Absent without one. Never part of `extra`. */
  secondFactor?: string
  /** When its second factor was last reset, as the source writes it; absent if it was not. */
  secondFactorResetAt?: string
  /** When the password was set, in milliseconds; absent if the source does not know it. */
  passwordChangedAt?: number
  /** The next login demands another password. */
  mustChangePassword?: true
  /** Set once the password has proved to be right, if its source accepts nothing but another one, which is set there. */
  passwordExpired?: true
  /** The names of its groups, in a source that has groups. Never part of `extra`. */
  groups?: readonly string[]
}

/** Columns or claims too large for a session, which are not in `extra`, and the kind of the source. */
export interface LeftOut {
  columns: readonly string[]
  source: 'sql' | 'http' | 'ldap' | 'provider'
}

/** One login, in a source that is asked several times in it. */
export interface SourceLogin {
  /** Milliseconds that the source has needed: its time limit is for the whole login. The source adds to it. */
  spent: number
  /** Why the source has refused, if it says so. It may not know the password, so this is for log and journal alone. */
  obstacle?: 'disabled' | 'expired' | 'locked' | 'restricted' | undefined
}

/** What a source can store about an account. */
export type Updatable = 'password' | 'second-factor'

/** A change of an account, ready to be stored. */
export interface PreparedUpdate {
  /** The version of the account once the change is stored; absent in a source that has no versions. */
  readonly version?: string
  /** The credential version of the account once the change is stored; absent where `version` is. */
  readonly credentialVersion?: string
  /**
   * `false` if the account is gone, and if it has another password, or another second factor, meanwhile, in a source
   * that can compare. Throws `Unavailable` if the source fails.
   */
  store(): Promise<boolean>
}

export interface PasswordUpdate {
  password: string
  /** In milliseconds. */
  changedAt: number
  mustChange: boolean
}

/** Present in a source that stores changes of its accounts. */
export interface AccountUpdates {
  readonly can: ReadonlySet<Updatable>
  /** Why nothing can be stored now, as far as this is known; absent in a source that learns it from a change only. */
  fault?(): Outage | null
  /** Refuses a password that the source cannot store with `INVALID`. */
  password(account: Account, update: PasswordUpdate): Promise<PreparedUpdate>
  /** `null` removes the second factor. */
  secondFactor(account: Account, sealed: string | null): PreparedUpdate
}

/** Refuses with `ACCOUNTS_UNWRITABLE` while nothing can be stored: before users enter what would be lost. */
export function refuseUnwritable(updates: Pick<AccountUpdates, 'fault'> | undefined): void {
  const fault = updates?.fault?.() ?? null
  if (fault !== null) throw new Unavailable(fault.message, fault.cause, 'ACCOUNTS_UNWRITABLE')
}

/** The rights that an account grants to each of its sessions. */
export interface Rights {
  roles: readonly string[]
  permissions: readonly string[]
}

/** The changes of all accounts of a source, by this gateway or by others. */
export interface AccountChanges {
  /** The version of the account with this login id; `null` when there is no such account, or it is not `ACTIVE`. */
  versionOf(id: string): string | null
  /**
   * The account with this login id, of any status, at once and without reading anything: by the same accounts as `versionOf`.
   * `null` when there is no such account, and while the accounts are not known yet. No password can be verified against it.
   */
  accountOf(id: string): Account | null
  /** Resolves when both answer by the accounts as they are now; if they cannot be read, they answer as before. */
  refresh(): Promise<void>
  /** Calls `changed` from now on, as soon as the source notices something; `null` ends it. */
  follow(changed: ChangedAccounts | null): void
  /** How many accounts have a second factor. */
  secondFactors(): number
  /** What operators should know of the source: a fault that lasts. */
  warnings(): readonly string[]
}

/**
 * Is notified of the active accounts that were removed, are no longer active, or have another version: their login ids, and
 * what changed. `null`: the accounts are known for the first time, and nothing is known of what they were before.
 */
export type ChangedAccounts = (changed: ReadonlyMap<string, AccountChange> | null) => void

/**
 * A source of accounts. It verifies passwords itself: a directory binds with the password; a source that holds bcrypt
 * hashes does it through `createHashAccounts`. Absence is `null`; a source that fails throws `Unavailable`, which is never
 * "wrong password".
 */
export interface AccountSource {
  /** Present in a source that knows all of its accounts at any time. */
  readonly changes?: AccountChanges
  readonly updates?: AccountUpdates
  readonly management?: AccountManagement
  /** A session ends, when its account is read again, if the account has lost a role that the session has. */
  readonly endsWithRoles?: true
  /** With `login`, the source may leave to `verify` what it reads for those alone who know the password. */
  find(username: string, login?: SourceLogin): Promise<Account | null>
  /** By the login id. Present in a source where several accounts may have one name: there `find` finds none. */
  findById?(id: string): Promise<Account | null>
  /**
   * Whether a password is that of an account from `find`. `null` stands for an unknown name, and for a password that could
   * not be decrypted: every "no" takes the same time, so that the time does not tell which names exist. An empty password
   * fits no account, and no password fits a service account. Fails with `BUSY` when too many verifications wait. `login` is that of
   * `find`; the account is complete when its password has proved to be right.
   */
  verify(account: Account | null, password: string | null, login?: SourceLogin): Promise<boolean>
  close(): Promise<void>
}

/**
 * The account of a person, which is the only kind that has a password: `null` for a service account. Where passwords are verified
 * its name is an unknown one, so that no answer, count or delay tells that it exists.
 */
export async function findPerson(
  { find }: Pick<AccountSource, 'find'>,
  username: string,
  login?: SourceLogin,
): Promise<Account | null> {
  const found = await find(username, login)
  return found?.service === true ? null : found
}

/** An account as its source has it now; `null` if it is gone, and if another one has its name. */
export async function findAgain(
  { find, findById }: Pick<AccountSource, 'find' | 'findById'>,
  { id, username }: Pick<Account, 'id' | 'username'>,
): Promise<Account | null> {
  const present = await (findById === undefined ? find(username) : findById(id))
  return present?.id === id ? present : null
}

/** The same; `null` also if it is not active. */
export async function findActive(
  source: Pick<AccountSource, 'find' | 'findById'>,
  account: Pick<Account, 'id' | 'username'>,
): Promise<Account | null> {
  const present = await findAgain(source, account)
  return present?.status === 'ACTIVE' ? present : null
}

/** The rights of users, from the same accounts and by the same law. */
export interface RightsSource {
  /** The rights of the account with this login id; `null` when there is no such account, or it is not `ACTIVE`. */
  findRights(id: string): Promise<Rights | null>
}

export type Accounts = AccountSource & RightsSource
