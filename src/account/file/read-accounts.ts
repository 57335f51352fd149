import { readFile, stat } from 'node:fs/promises'
import { decode } from '../../settings/notation/yaml.ts'
import type { HashAccount } from '../hash-accounts.ts'
import type { ListedAccount } from '../management.ts'
import { COST, costOf } from '../password.ts'
import { AccountsReader, type AccountsText } from './accounts-reader.ts'
import { nameKey } from './document.ts'
import { knownOf } from './known-account.ts'

type Shown = ReturnType<typeof knownOf>['shown']

/** The version of an active account; `null` for any other. */
export const activeVersionOf = (account: Shown | undefined): string | null =>
  account?.status === 'ACTIVE' ? account.version : null

/** The accounts of one state of the file. */
export interface ReadAccounts {
  byName: ReadonlyMap<string, HashAccount>
  byId: ReadonlyMap<string, HashAccount>
  /** Without their hashes, by login id. */
  shown: ReadonlyMap<string, Shown>
  /** In the order of the file. */
  listed: readonly ListedAccount[]
  highestCost: number
  /** How many have a second factor. */
  secondFactors: number
  /** `false` for a file without a list, which may be one that is being written. */
  hasList: boolean
}

/** The accounts of a file; none if it is missing. Throws `ConfigurationError` with all of its faults. */
export async function readAccounts(path: string, reader = new AccountsReader(path)): Promise<ReadAccounts> {
  const text = await textIfAny(path)
  return text === null ? NO_ACCOUNTS : accountsIn(await reader.read(text))
}

/** `null` if the file is missing. Throws `ConfigurationError` if it is not UTF-8. */
export async function textIfAny(path: string): Promise<string | null> {
  try {
    return decode(await readFile(path), path)
  } catch (fault) {
    if (isAbsent(fault)) return null
    throw fault
  }
}

export function accountsIn({ entries, hasList }: AccountsText): ReadAccounts {
  const found = entries.map(knownOf)
  const accounts = found.map(({ account }) => account)
  return {
    byName: new Map(accounts.map(account => [nameKey(account.username), account])),
    byId: new Map(accounts.map(account => [account.id, account])),
    shown: new Map(found.map(({ shown }) => [shown.id, shown])),
    listed: found.map(({ listed }) => listed),
    highestCost:
      accounts.reduce((highest, { passwordHash }) => Math.max(highest, costOf(passwordHash) ?? 0), 0) || COST,
    secondFactors: accounts.filter(({ secondFactor }) => secondFactor !== undefined).length,
    hasList,
  }
}

export const NO_ACCOUNTS: ReadAccounts = {
  byName: new Map(),
  byId: new Map(),
  shown: new Map(),
  listed: [],
  highestCost: COST,
  secondFactors: 0,
  hasList: false,
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
