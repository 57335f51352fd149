import { createHash } from 'node:crypto'
import { type Extra, textsOf } from '../session/record.ts'

/*
 * The version of an account: two digests, and the name of its second factor if it has one. The digests are of the stored
 * password, and of the rights with the time of the last reset of a second factor. A session that the gateway's own login
 * creates carries the version of its account in `extra.account_version`, so that any gateway finds out later, also after a
 * restart, that the account has changed since. Sessions without one, from earlier versions or through the operations,
 * cannot be compared. Nothing can be computed back from a version: a bcrypt hash contains 128 random bits.
 *
 * Keys of programs carry the credential version of their account: a digest of the stored password and, after a reset of a second
 * factor, one of the time of the last reset. Keys live longer than sessions and survive more. An administrator resets a password
 * or a factor because another person may know it: keys from before end. Other roles and permissions end no key, because a
 * request by key has the rights that the account has at the time; nor does a second factor that its user sets up, replaces or
 * removes. A password that users change themselves is another stored password as well: a key that is to survive gets the
 * version that `PreparedUpdate` announces. A service account has no password: the time when it was added stands for one in both
 * versions, so that one that was removed and added again has others.
 */

/** Why sessions of an account end. */
export type AccountChange =
  /** It was removed, is no longer ACTIVE, has other roles or permissions, or lost its second factor. */
  | 'account-changed'
  /** Another password, which is another hash. */
  | 'password-changed'

/** The key in a session's `extra`. */
export const ACCOUNT_VERSION = 'account_version'
/** The version that the account is about to get, in the session that changes it (`login/own-account/keep-session.ts`). */
const NEXT_VERSION = 'account_version_next'
export const VERSION_KEYS = [ACCOUNT_VERSION, NEXT_VERSION] as const

const VERSION = /^[\w-]{12}\.[\w-]{12}(\.[\w-]{12})?$/

/** 72 bits. A user who chooses a password cannot choose its hash. */
const digest = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 12)

interface Versioned {
  passwordHash: string
  /** Has no password. */
  service?: true
  /** When the service account was added, as the source writes it. */
  added?: string
  extra: Extra
  /** Ends the sessions from before the factor was set up, which carry no name of it. */
  secondFactorResetAt?: string
  /** `NAME.SEALED`: the name has 12 characters, is random, and stays when a recovery code is used up. */
  secondFactor?: string
}

/** Both versions of an account. */
export interface Versions {
  version: string
  credentialVersion: string
}

export const versionsOf = (account: Versioned): Versions => ({
  version: versionOf(account),
  credentialVersion: credentialVersionOf(account),
})

/** Of the stored password, or of what stands for it. No hash begins with this word. */
const digestOfPassword = ({ passwordHash, service, added = '' }: Omit<Versioned, 'extra'>): string =>
  digest(service === true ? `service ${added}` : passwordHash)

/** Compared as a whole: a key carries the present one, or ends. */
export function credentialVersionOf(account: Omit<Versioned, 'extra'>): string {
  const { secondFactorResetAt } = account
  const password = digestOfPassword(account)
  return secondFactorResetAt === undefined ? password : `${password}.${digest(secondFactorResetAt)}`
}

export function versionOf(account: Versioned): string {
  const { extra, secondFactor, secondFactorResetAt } = account
  // The order in which a database lists roles is not theirs.
  const lists = ['roles', 'permissions'].map(name => [...new Set(textsOf(extra, name))].sort())
  const rights = secondFactorResetAt === undefined ? lists : [...lists, secondFactorResetAt]
  const parts = [digestOfPassword(account), digest(JSON.stringify(rights))]
  return (secondFactor === undefined ? parts : [...parts, secondFactor.split('.', 1)[0]!]).join('.')
}

/** The versions of its account that a session carries: one, none, or two while the session itself changes the account. */
export function versionsIn(extra: Extra): string[] {
  const carried = VERSION_KEYS.map(key => (Object.hasOwn(extra, key) ? extra[key] : null))
  return carried.filter(version => typeof version === 'string' && VERSION.test(version)) as string[]
}

/** The `extra` of a session that carries one version, or two. */
export function withVersions(extra: Extra, version: string, next?: string): Extra {
  const { [NEXT_VERSION]: _, ...others } = extra
  return { ...others, [ACCOUNT_VERSION]: version, ...(next !== undefined && { [NEXT_VERSION]: next }) }
}

/**
 * What has changed since a session began that carries these versions, one or more; `null` if one of them is the present one.
 * `present` is `null` without an active account.
 */
export function changeSince(carried: readonly string[], present: string | null): AccountChange | null {
  const changes = carried.map(version => changeBetween(version, present))
  return changes.includes(null) ? null : changes[0]!
}

/**
 * What has changed between two versions of an account and ends its sessions; `null` if nothing has. A second factor where
 * there was none ends no session. `present` is `null` without an active account.
 */
export function changeBetween(earlier: string, present: string | null): AccountChange | null {
  if (present === null) return 'account-changed'
  const [, rights] = earlier.split('.')
  const [, nowRights] = present.split('.')
  if (!samePassword(earlier, present)) return 'password-changed'
  return rights !== nowRights || hasLostFactor(earlier, present) ? 'account-changed' : null
}

/** Whether an account had a second factor that it has no more, or has replaced. */
export function hasLostFactor(earlier: string, present: string): boolean {
  const [, , factor] = earlier.split('.')
  const [, , nowFactor] = present.split('.')
  return factor !== undefined && factor !== nowFactor
}

export const samePassword = (one: string, other: string): boolean => one.split('.')[0] === other.split('.')[0]
