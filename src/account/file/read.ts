import { readFile, stat } from 'node:fs/promises'
import type { HashAccount } from '../hash-accounts.ts'
import { COST, costOf } from '../password.ts'
import { versionOf } from '../version.ts'
import { nameKey, parseAccounts } from './document.ts'
import type { AccountEntry } from './schema.ts'

/** The accounts of one state of the file. */
export interface ReadAccounts {
  byName: ReadonlyMap<string, HashAccount>
  byId: ReadonlyMap<string, HashAccount>
  /** The versions of the active ones, by login id. */
  versions: ReadonlyMap<string, string>
  highestCost: number
  /** `false` for a file without a list, which may be one that is being written. */
  hasList: boolean
}

/** The accounts of a file; none if it is missing. Throws `ConfigurationError` with all of its faults. */
export async function readAccounts(path: string): Promise<ReadAccounts> {
  try {
    return accountsIn(await readFile(path, 'utf8'), path)
  } catch (fault) {
    if (isAbsent(fault)) return NO_ACCOUNTS
    throw fault
  }
}

function accountsIn(text: string, path: string): ReadAccounts {
  const { entries, hasList } = parseAccounts(text, path)
  const found = entries.map(accountOf)
  return {
    byName: new Map(found.map(account => [nameKey(account.username), account])),
    byId: new Map(found.map(account => [account.id, account])),
    versions: new Map(
      found.filter(({ status }) => status === 'ACTIVE').map(account => [account.id, versionOf(account)]),
    ),
    highestCost: Math.max(
      ...(found.length === 0 ? [COST] : found.map(({ passwordHash }) => costOf(passwordHash) ?? 0)),
    ),
    hasList,
  }
}

export const NO_ACCOUNTS: ReadAccounts = {
  byName: new Map(),
  byId: new Map(),
  versions: new Map(),
  highestCost: COST,
  hasList: false,
}

function accountOf(entry: AccountEntry): HashAccount {
  const { id, username, password, must_change_password, password_changed_at, second_factor, ...others } = entry
  const status = others.status ?? 'ACTIVE'
  const extra = { nickname: username, avatar: null, roles: [], permissions: [], ...others, status }
  return {
    id,
    username,
    passwordHash: password,
    status,
    extra,
    ...(must_change_password === true && { mustChangePassword: true }),
    ...(password_changed_at !== undefined && { passwordChangedAt: Date.parse(password_changed_at) }),
    ...(second_factor !== undefined && { secondFactor: second_factor }),
  }
}

/** The state of a missing file. */
export const ABSENT = 'absent'

/** A text that changes whenever the file is written or replaced. */
export async function stateOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`
  } catch (fault) {
    if (isAbsent(fault)) return ABSENT
    throw fault
  }
}

const isAbsent = (fault: unknown): boolean => (fault as NodeJS.ErrnoException).code === 'ENOENT'
