import { createHash } from 'node:crypto'
import { type Extra, textsOf } from '../session.ts'

/*
 * The version of an account: two digests, of the stored password and of the rights. A session that the gateway's own login
 * creates carries the version of its account in `extra.account_version`, so that any gateway finds out later, also after a
 * restart, that the account has changed since. Sessions without one, from earlier versions or through the operations,
 * cannot be compared. Nothing can be computed back from a version: a bcrypt hash contains 128 random bits.
 */

/** Why sessions of an account end. */
export type AccountChange =
  /** It was removed, is no longer ACTIVE, or has other roles or permissions. */
  | 'account-changed'
  /** Another password, which is another hash. */
  | 'password-changed'

/** The key in a session's `extra`. */
export const ACCOUNT_VERSION = 'account_version'

const VERSION = /^[\w-]{12}\.[\w-]{12}$/

/** 72 bits. A user who chooses a password cannot choose its hash. */
const digest = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 12)

export function versionOf({ passwordHash, extra }: { passwordHash: string; extra: Extra }): string {
  // The order in which a database lists roles is not theirs.
  const rights = ['roles', 'permissions'].map(name => [...new Set(textsOf(extra, name))].sort())
  return `${digest(passwordHash)}.${digest(JSON.stringify(rights))}`
}

/** The version of its account that a session carries; `null` if it has none. */
export function versionIn(extra: Extra): string | null {
  const version = Object.hasOwn(extra, ACCOUNT_VERSION) ? extra[ACCOUNT_VERSION] : null
  return typeof version === 'string' && VERSION.test(version) ? version : null
}

/** What has changed between two versions of an account; `null` if nothing has. `present` is `null` without an active account. */
export function changeBetween(earlier: string, present: string | null): AccountChange | null {
  if (present === null) return 'account-changed'
  if (present === earlier) return null
  return samePassword(earlier, present) ? 'account-changed' : 'password-changed'
}

export const samePassword = (one: string, other: string): boolean => one.split('.')[0] === other.split('.')[0]
