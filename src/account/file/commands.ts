import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { createFile } from '../../base/durable-file.ts'
import { generatePassword } from '../generate-password.ts'
import { generateAccountId } from '../id.ts'
import type { AccountEdit, AddedAccount, AddedFields, HashedPassword, ListedAccount } from '../management.ts'
import { hashPassword } from '../password.ts'
import { AccountsReader } from './accounts-reader.ts'
import { textAfter } from './changed-text.ts'
import { type EditedFile, EMPTY_FILE, edit, exists, readWhole } from './edit-file.ts'
import { changeOf, entryNamed, entryOf } from './entries.ts'
import { knownOf } from './known-account.ts'
import type { AccountEntry } from './schema.ts'

/* What the command line does with the accounts in a file. */

interface NewFields extends Partial<AddedFields> {
  username: string
}

/** With `mustChange` the first login demands another password. A service account has none. */
export type NewAccount = NewFields & ({ password: string; mustChange?: boolean } | { service: true })

const fileAt = (path: string): EditedFile => ({ path, reader: new AccountsReader(path) })

/** Whether the file changed. */
async function change(
  path: string,
  decide: (entries: readonly AccountEntry[]) => AccountEdit | null,
): Promise<boolean> {
  const { changed } = await edit(fileAt(path), entries => {
    const wanted = decide(entries)
    return { change: wanted === null ? null : changeOf(wanted, entries), result: null }
  })
  return changed
}

/**
 * Adds an account; creates the file if it is missing. Refuses a name or an id that exists or is invalid with `INVALID`.
 */
export async function addAccount(path: string, account: NewAccount): Promise<{ id: string }> {
  const add = await addedOf(account)
  await change(path, () => ({ add }))
  return { id: add.id }
}

/** Sets the password of an account. `false` when there is no such account. */
export async function setPassword(
  path: string,
  username: string,
  password: string,
  mustChange = false,
): Promise<boolean> {
  const set = { password: await hashed(password, mustChange) }
  return change(path, entries => {
    const entry = entryNamed(entries, username)
    return entry === undefined ? null : { id: entry.id, set }
  })
}

/** Removes the second factor of an account. `false` when there is no such account, or it has none. */
export async function removeSecondFactor(path: string, username: string): Promise<boolean> {
  return change(path, entries => {
    const entry = entryNamed(entries, username)
    return entry?.second_factor === undefined ? null : { id: entry.id, set: { secondFactor: null } }
  })
}

/** Removes an account. `false` when there is no such account. What `check` throws keeps it. */
export async function removeAccount(
  path: string,
  username: string,
  check: (account: ListedAccount, accounts: readonly ListedAccount[]) => void = () => undefined,
): Promise<boolean> {
  return change(path, entries => {
    const entry = entryNamed(entries, username)
    if (entry === undefined) return null
    check(
      knownOf(entry).listed,
      entries.map(entry => knownOf(entry).listed),
    )
    return { id: entry.id, remove: true }
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
  const made = entryOf(await addedOf({ ...first, nickname: 'Administrator', roles: ['SUPER_ADMIN'] }))
  // Without a date: no user has chosen this password, so the page advises to change it.
  const { password_changed_at: _, ...entry } = made
  const reader = new AccountsReader(path)
  const text = await textAfter(EMPTY_FILE, await reader.read(EMPTY_FILE), { add: entry }, reader)
  await mkdir(dirname(path), { recursive: true })
  return createFile(path, text) ? first : null
}

async function addedOf(account: NewAccount): Promise<AddedAccount> {
  if ('service' in account) return { ...complete(account), service: true, addedAt: systemClock.now() }
  const { password, mustChange = false, ...fields } = account
  return { ...complete(fields), password: await hashed(password, mustChange) }
}

const complete = (fields: NewFields): AddedFields => ({
  id: generateAccountId(),
  nickname: fields.username,
  status: 'ACTIVE',
  roles: [],
  permissions: [],
  ...fields,
})

const hashed = async (password: string, mustChange: boolean): Promise<HashedPassword> => ({
  hash: await hashPassword(password),
  changedAt: systemClock.now(),
  mustChange,
})
