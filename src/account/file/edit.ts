import { mkdir, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { createFile, replaceFile } from '../../base/durable-file.ts'
import { invalid, NOT_A_LOGIN_ID, Unavailable } from '../../base/refusal.ts'
import { isLoginId } from '../../session.ts'
import { ConfigurationError } from '../../yaml/fault.ts'
import { generatePassword } from '../generate-password.ts'
import type { HashUpdates } from '../hash-accounts.ts'
import { generateAccountId } from '../id.ts'
import type { AccountStatus, ListedAccount } from '../management.ts'
import { hashPassword } from '../password.ts'
import { type Change, changed, type Fields } from './change.ts'
import { isUsername, listMissing, nameKey } from './document.ts'
import { knownOf } from './known.ts'
import { type IsHeld, withLock } from './lock.ts'
import { AccountsReader } from './reader.ts'
import type { AccountEntry } from './schema.ts'
import { noteWhole, readIfAny, settledText } from './settled.ts'

export interface NewAccount {
  username: string
  password: string
  /** A new snowflake-style id when absent. */
  id?: string
  nickname?: string
  status?: AccountStatus
  roles?: string[]
  permissions?: string[]
  /** The first login demands another password. */
  mustChange?: boolean
}

const EMPTY = `# Accounts of the gateway, managed by \`dualgate account\`; read again when this file changes.
# status: ACTIVE, INACTIVE or LOCKED. password: a bcrypt hash. Further keys go into the session as they are.
accounts: []
`

/**
 * Adds an account; creates the file if it is missing. Refuses a name or an id that exists or is invalid with `INVALID`.
 */
export async function addAccount(path: string, account: NewAccount): Promise<{ id: string }> {
  const { id = generateAccountId() } = account
  const entry = await entryOf(account, id)
  await edit(fileAt(path), entries => adding(entries, entry))
  return { id }
}

/** Sets the password of an account. `false` when there is no such account. */
export async function setPassword(
  path: string,
  username: string,
  password: string,
  mustChange = false,
): Promise<boolean> {
  const hash = await hashPassword(password)
  const update = { hash, changedAt: systemClock.now(), mustChange }
  return edit(fileAt(path), entries => setting(indexOf(entries, username), passwordFields(update)))
}

/** Refuses a name or an id that exists or is invalid with `INVALID`. */
export function adding(entries: readonly AccountEntry[], entry: AccountEntry): Change {
  const { username, id } = entry
  if (!isUsername(username)) throw invalid('username', 'must be 1 to 128 characters without spaces at its ends')
  if (!isLoginId(id)) throw invalid('id', NOT_A_LOGIN_ID)
  if (indexOf(entries, username) !== -1) throw invalid('username', 'is taken')
  if (indexOfId(entries, id) !== -1) throw invalid('id', 'is taken')
  return { add: entry }
}

/** `null` without such an account. */
export const setting = (at: number, set: Fields): { at: number; set: Fields } | null => (at === -1 ? null : { at, set })

/** Milliseconds as the file shows them. */
const timeText = (time: number): string => new Date(time).toISOString()

type NewPassword = Parameters<HashUpdates['setPassword']>[1]

export const passwordFields = ({ hash, changedAt, mustChange }: NewPassword) => ({
  password: hash,
  password_changed_at: timeText(changedAt),
  must_change_password: mustChange ? true : undefined,
})

/**
 * Removes the second factor, if there is one. Sessions from before it was set up carry no trace of it: they end because of
 * the time of the reset.
 */
export const resetFields = ({ second_factor }: AccountEntry): Fields =>
  second_factor === undefined ? {} : { second_factor: undefined, second_factor_reset_at: timeText(systemClock.now()) }

/** Removes the second factor of an account. `false` when there is no such account, or it has none. */
export async function removeSecondFactor(path: string, username: string): Promise<boolean> {
  return edit(fileAt(path), entries => {
    const at = indexOf(entries, username)
    const entry = entries[at]
    return entry?.second_factor === undefined ? null : { at, set: resetFields(entry) }
  })
}

/** Removes an account. `false` when there is no such account. What `check` throws keeps it. */
export async function removeAccount(
  path: string,
  username: string,
  check: (account: ListedAccount, accounts: readonly ListedAccount[]) => void = () => undefined,
): Promise<boolean> {
  return edit(fileAt(path), entries => {
    const at = indexOf(entries, username)
    if (at === -1) return null
    const accounts = entries.map(entry => knownOf(entry).listed)
    check(accounts[at]!, accounts)
    return { at, remove: true }
  })
}

/** The accounts in the file, without their hashes. Empty without a file. */
export async function listAccounts(path: string): Promise<readonly ListedAccount[]> {
  const { read } = await readWhole(path, new AccountsReader(path))
  return read.entries.map(entry => knownOf(entry).listed)
}

/**
 * For a first start: if the file is missing, creates it with an administrator and returns its password; otherwise
 * returns `null`.
 */
export async function firstAccount(path: string): Promise<{ username: string; password: string } | null> {
  if (await exists(path)) return null
  const first = { username: 'admin', password: generatePassword() }
  const made = await entryOf({ ...first, nickname: 'Administrator', roles: ['SUPER_ADMIN'] }, generateAccountId())
  // Without a date: no user has chosen this password, so the page advises to change it.
  const { password_changed_at: _, ...entry } = made
  const reader = new AccountsReader(path)
  const text = await changed(EMPTY, await reader.read(EMPTY), { add: entry }, reader)
  await mkdir(dirname(path), { recursive: true })
  return createFile(path, text) ? first : null
}

async function entryOf(account: NewAccount, id: string): Promise<AccountEntry> {
  const { username, nickname = username, status = 'ACTIVE', roles = [], permissions = [], mustChange } = account
  const password = await hashPassword(account.password)
  const password_changed_at = timeText(systemClock.now())
  const change = mustChange === true ? { must_change_password: true } : {}
  return { id, username, password, password_changed_at, ...change, nickname, status, roles, permissions }
}

const indexOf = (entries: readonly AccountEntry[], username: string): number =>
  entries.findIndex(entry => nameKey(entry.username) === nameKey(username))

export const indexOfId = (entries: readonly AccountEntry[], id: string): number =>
  entries.findIndex(entry => entry.id === id)

/** A file that is edited. */
export interface EditedFile {
  readonly path: string
  readonly reader: AccountsReader
  /** Called with each new text of the file as soon as it is there: nothing of this process comes in between. */
  written?(text: string): void
}

const fileAt = (path: string): EditedFile => ({ path, reader: new AccountsReader(path) })

/** What is to change of these accounts, if anything. What it throws ends the edit, and nothing changes. */
export type Decide = (entries: readonly AccountEntry[]) => Change | null | Promise<Change | null>

/** How often the change is decided again because an editor saved the file meanwhile. */
const MAX_TRIES = 10

/**
 * Reads the file, changes it and writes it. Returns whether it changed. Writers that come here lose no update of each other:
 * they hold the lock. An editor knows nothing of a lock: the change is decided again if the file is another one when it is
 * about to be replaced. Two things remain to the editor: what it saves within some microseconds from then on is lost, and an
 * editor that saves what it read before the change undoes the change.
 */
export async function edit(edited: EditedFile, decide: Decide): Promise<boolean> {
  const { path } = edited
  await mkdir(dirname(path), { recursive: true })
  // A link is followed, so that the file it names is replaced and not the link.
  const file = (await exists(path)) ? await realpath(path) : path
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const outcome = await withLock(file, isHeld => tryEdit(file, edited, decide, isHeld))
    if (outcome !== 'overtaken') return outcome === 'changed'
  }
  throw new Unavailable(`${path} is saved by another program all the time; try again`)
}

type Outcome = 'changed' | 'unchanged' | 'overtaken'

async function tryEdit(file: string, edited: EditedFile, decide: Decide, isHeld: IsHeld): Promise<Outcome> {
  const { reader, written } = edited
  const { before, text, read } = await readWhole(file, reader)
  const change = await decide(read.entries)
  if (change === null) return 'unchanged'
  const after = await changed(text, read, change, reader)
  if (after === before) return 'unchanged'
  if (!replaceFile(file, after, () => isHeld() && readIfAny(file) === before)) return 'overtaken'
  noteWhole(file, after)
  written?.(after)
  return 'changed'
}

/**
 * The accounts of a file that no program is writing. A file without a list has faults: that is how one looks whose disk was full,
 * and an account that is added to it would replace all others.
 */
async function readWhole(path: string, reader: AccountsReader) {
  const before = await settledText(path)
  const text = before ?? EMPTY
  const read = await reader.read(text)
  if (!read.hasList) throw new ConfigurationError([listMissing(path)])
  return { before, text, read }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw fault
  }
}
