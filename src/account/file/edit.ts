import { readFileSync } from 'node:fs'
import { mkdir, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Document, isMap, isSeq } from 'yaml'
import { systemClock } from '../../clock.ts'
import { createFile, replaceFile } from '../../durable-file.ts'
import { invalid } from '../../refusal.ts'
import { isLoginId } from '../../session.ts'
import type { AccountStatus } from '../accounts.ts'
import { generatePassword } from '../generate-password.ts'
import type { HashUpdates } from '../hash-accounts.ts'
import { generateAccountId } from '../id.ts'
import { hashPassword } from '../password.ts'
import { isUsername, nameKey, parseAccounts } from './document.ts'
import { withLock } from './lock.ts'
import type { AccountEntry } from './schema.ts'

export interface NewAccount {
  username: string
  password: string
  /** A new snowflake-style id when absent. */
  id?: string
  nickname?: string
  status?: AccountStatus
  roles?: string[]
  permissions?: string[]
}

export interface ListedAccount {
  id: string
  username: string
  nickname: string
  status: AccountStatus
  roles: string[]
  permissions: string[]
}

const EMPTY = `# Accounts of the gateway, managed by \`dualgate account\`; read again when this file changes.
# status: ACTIVE, INACTIVE or LOCKED. password: a bcrypt hash. Further keys go into the session as they are.
accounts: []
`

/**
 * Adds an account; creates the file if it is missing. Refuses a name or an id that exists or is invalid with `INVALID`.
 */
export async function addAccount(path: string, account: NewAccount): Promise<{ id: string }> {
  const { username, id = generateAccountId() } = account
  if (!isUsername(username)) throw invalid('username', 'must be 1 to 128 characters without spaces at its ends')
  if (!isLoginId(id)) throw invalid('id', 'must be 1 to 128 characters of A-Z a-z 0-9 . _ @ : -')
  const entry = await entryOf(account, id)
  await edit(path, (document, entries) => {
    if (indexOf(entries, username) !== -1) throw invalid('username', 'is taken')
    if (entries.some(other => other.id === id)) throw invalid('id', 'is taken')
    append(document, entry)
    return true
  })
  return { id }
}

/** Sets the password of an account. `false` when there is no such account. */
export async function setPassword(path: string, username: string, password: string): Promise<boolean> {
  const hash = await hashPassword(password)
  return edit(path, (document, entries) => {
    const index = indexOf(entries, username)
    if (index !== -1) writePassword(document, index, { hash, changedAt: systemClock.now(), mustChange: false })
    return index !== -1
  })
}

/** What the gateway itself changes of the accounts in a file. */
export const fileUpdates = (path: string): HashUpdates => ({
  can: new Set(['password', 'second-factor'] as const),
  setPassword: (id, update) =>
    edit(path, (document, entries) => {
      const index = entries.findIndex(entry => entry.id === id)
      if (index !== -1) writePassword(document, index, update)
      return index !== -1
    }),
  setSecondFactor: (id, sealed, expected) =>
    edit(path, (document, entries) => {
      const index = entries.findIndex(entry => entry.id === id)
      if (index === -1 || (entries[index]!.second_factor ?? null) !== expected) return false
      if (sealed === null) document.deleteIn(['accounts', index, 'second_factor'])
      else document.setIn(['accounts', index, 'second_factor'], sealed)
      return true
    }),
})

/** Milliseconds as the file shows them. */
const timeText = (time: number): string => new Date(time).toISOString()

type NewPassword = Parameters<HashUpdates['setPassword']>[1]

function writePassword(document: Document, index: number, { hash, changedAt, mustChange }: NewPassword): void {
  const place = ['accounts', index]
  document.setIn([...place, 'password'], hash)
  document.setIn([...place, 'password_changed_at'], timeText(changedAt))
  if (mustChange) document.setIn([...place, 'must_change_password'], true)
  else document.deleteIn([...place, 'must_change_password'])
}

/** Removes an account. `false` when there is no such account. */
export async function removeAccount(path: string, username: string): Promise<boolean> {
  return edit(path, (document, entries) => {
    const index = indexOf(entries, username)
    if (index !== -1) document.deleteIn(['accounts', index])
    return index !== -1
  })
}

/** The accounts in the file, without their hashes. Empty without a file. */
export async function listAccounts(path: string): Promise<ListedAccount[]> {
  const { entries } = parseAccounts(readIfAny(path) ?? EMPTY, path)
  return entries.map(({ id, username, nickname = username, status = 'ACTIVE', roles = [], permissions = [] }) => ({
    id,
    username,
    nickname,
    status,
    roles,
    permissions,
  }))
}

/**
 * For a first start: if the file is missing, creates it with an administrator and returns its password; otherwise
 * returns `null`.
 */
export async function firstAccount(path: string): Promise<{ username: string; password: string } | null> {
  if (await exists(path)) return null
  const first = { username: 'admin', password: generatePassword() }
  const { document } = parseAccounts(EMPTY, path)
  append(document, await entryOf({ ...first, nickname: 'Administrator', roles: ['SUPER_ADMIN'] }, generateAccountId()))
  await mkdir(dirname(path), { recursive: true })
  return createFile(path, String(document)) ? first : null
}

async function entryOf(account: NewAccount, id: string): Promise<AccountEntry> {
  const { username, nickname = username, status = 'ACTIVE', roles = [], permissions = [] } = account
  const password = await hashPassword(account.password)
  const password_changed_at = timeText(systemClock.now())
  return { id, username, password, password_changed_at, nickname, status, roles, permissions }
}

const indexOf = (entries: AccountEntry[], username: string): number =>
  entries.findIndex(entry => nameKey(entry.username) === nameKey(username))

function append(document: Document, entry: AccountEntry): void {
  if (!isMap(document.contents)) document.contents = document.createNode({ accounts: [] })
  const list = document.get('accounts', true)
  if (isSeq(list)) {
    // `[]` is how an empty list is written; accounts stand one below the other.
    if (list.items.length === 0) list.flow = false
    list.add(document.createNode(entry))
  } else {
    document.set('accounts', document.createNode([entry]))
  }
}

type Change = (document: Document, entries: AccountEntry[]) => boolean

/** How often a change is made again because an editor saved the file meanwhile. */
const MAX_TRIES = 10

/**
 * Reads the file, changes it and writes it. `change` returns whether it changed anything. Writers that come here lose no
 * update of each other: they hold the lock. An editor knows nothing of a lock: the change is made again if the file is
 * another one when it is about to be replaced. Two things remain to the editor: what it saves within some microseconds
 * from then on is lost, and an editor that saves what it read before the change undoes the change.
 */
async function edit(path: string, change: Change): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true })
  // A link is followed, so that the file it names is replaced and not the link.
  const file = (await exists(path)) ? await realpath(path) : path
  return withLock(file, async () => {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const before = readIfAny(file)
      const after = changed(before ?? EMPTY, path, change)
      if (after === null) return false
      if (replaceFile(file, after, () => readIfAny(file) === before)) return true
    }
    throw new Error(`${path} is saved by another program all the time; try again`)
  })
}

/** The text of the file after a change; `null` if nothing changed. */
function changed(text: string, path: string, change: Change): string | null {
  const { document, entries } = parseAccounts(text, path)
  if (!change(document, entries)) return null
  const after = document.toString({ lineWidth: 0 })
  // An unreadable text must not replace the file.
  parseAccounts(after, path)
  return after
}

/** Synchronous, so that nothing of this process comes between a last look and the replacement. */
function readIfAny(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw fault
  }
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
