import { readFile, stat } from 'node:fs/promises'
import type { Logger } from '../../log.ts'
import { Unavailable } from '../../refusal.ts'
import { ConfigurationError } from '../../yaml/fault.ts'
import type { HashAccount, HashSource } from '../hash-accounts.ts'
import { COST, costOf } from '../password.ts'
import { nameKey, parseAccounts } from './document.ts'
import type { AccountEntry } from './schema.ts'

export { generateAccountId } from '../id.ts'
export { addAccount, firstAccount, listAccounts, removeAccount, setPassword } from './edit.ts'

export interface FileAccountsSettings {
  kind: 'file'
  path: string
}

interface Read {
  byName: ReadonlyMap<string, HashAccount>
  byId: ReadonlyMap<string, HashAccount>
}

/**
 * Accounts in a YAML file. Every look-up checks whether the file has changed, and then reads it again. A version with
 * faults is logged once, and the previous one stays in use; without one the source is `Unavailable`. A missing file has
 * no accounts.
 */
export function createFileAccounts({ path }: FileAccountsSettings, log: Pick<Logger, 'error'>): HashSource {
  let version: string | null = null
  let accounts: Read | null = null
  let highestCost = COST
  let reading: Promise<void> | null = null
  let isRemoved = false

  async function read(found: string): Promise<void> {
    try {
      accounts = await readAccounts(path)
      highestCost = highestCostOf(accounts)
    } catch (fault) {
      if (!(fault instanceof ConfigurationError)) throw new Unavailable(`${path} cannot be read`, fault)
      const consequence =
        accounts === null ? 'no login is possible until it is corrected' : 'the accounts of its last valid version stay'
      log.error({ faults: fault.faults }, `the accounts file has faults; ${consequence}`)
    }
    version = found
  }

  function checkRemoved(found: string): void {
    const wasRemoved = isRemoved
    isRemoved = found === ABSENT && version !== null && version !== ABSENT
    if (!isRemoved) return
    if (!wasRemoved) log.error({ path }, 'the accounts file was removed; no login is possible until it is there again')
    throw new Unavailable(`${path} was removed`)
  }

  async function current(): Promise<Read> {
    const found = await versionOf(path)
    checkRemoved(found)
    if (found !== version) {
      reading ??= read(found).finally(() => {
        reading = null
      })
      await reading
    }
    if (accounts === null) throw new Unavailable(`${path} has faults`)
    return accounts
  }

  return {
    async find(username) {
      return (await current()).byName.get(nameKey(username)) ?? null
    },
    async findRights(id) {
      const account = (await current()).byId.get(id)
      if (account === undefined || account.status !== 'ACTIVE') return null
      const { roles, permissions } = account.extra as { roles: string[]; permissions: string[] }
      return { roles, permissions }
    },
    highestCost: () => highestCost,
    async close() {},
  }
}

function highestCostOf(accounts: Read): number {
  const costs = [...accounts.byName.values()].map(({ passwordHash }) => costOf(passwordHash) ?? 0)
  return costs.length === 0 ? COST : Math.max(...costs)
}

/** The accounts of a file, by lower-case name and by login id. Throws `ConfigurationError` with all of its faults. */
export async function readAccounts(path: string): Promise<Read> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (fault) {
    if (isAbsent(fault)) return { byName: new Map(), byId: new Map() }
    throw fault
  }
  const found = parseAccounts(text, path).entries.map(accountOf)
  return {
    byName: new Map(found.map(account => [nameKey(account.username), account])),
    byId: new Map(found.map(account => [account.id, account])),
  }
}

/** The version of a missing file. */
const ABSENT = 'absent'

/** A fingerprint that changes whenever the file is written or replaced. */
async function versionOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`
  } catch (fault) {
    if (isAbsent(fault)) return ABSENT
    throw new Unavailable(`${path} cannot be read`, fault)
  }
}

const isAbsent = (fault: unknown): boolean => (fault as NodeJS.ErrnoException).code === 'ENOENT'

function accountOf({ id, username, password, ...others }: AccountEntry): HashAccount {
  const status = others.status ?? 'ACTIVE'
  const extra = { nickname: username, avatar: null, roles: [], permissions: [], ...others, status }
  return { id, username, passwordHash: password, status, extra }
}
