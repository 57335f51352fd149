import { readFile, stat } from 'node:fs/promises'
import type { FileAccountsSettings } from '../config/account-schema.ts'
import { ConfigurationError } from '../config/fault.ts'
import type { Logger } from '../log.ts'
import { Unavailable } from '../refusal.ts'
import type { Account, AccountSource } from './accounts.ts'
import { type AccountEntry, nameKey, parseAccounts } from './file-document.ts'
import { COST, costOf } from './password.ts'

export { addAccount, firstAccount, listAccounts, removeAccount, setPassword } from './file-edit.ts'
export { generateAccountId } from './id.ts'

type Accounts = ReadonlyMap<string, Account>

/**
 * Accounts in a YAML file. It is looked at on every look-up and read again when it changed. A version with faults is
 * logged once and the one before it stays; without one the source is `Unavailable`. No file is a file without accounts.
 */
export function createFileAccounts({ path }: FileAccountsSettings, log: Pick<Logger, 'error'>): AccountSource {
  let version: string | null = null
  let accounts: Accounts | null = null
  let highestCost = COST
  let reading: Promise<void> | null = null

  async function read(found: string): Promise<void> {
    try {
      accounts = await readAccounts(path)
      highestCost = highestCostOf(accounts)
    } catch (fault) {
      if (!(fault instanceof ConfigurationError)) throw new Unavailable(`${path} cannot be read`, fault)
      const consequence =
        accounts === null ? 'nobody can log in until it is mended' : 'the accounts of its last good version stay'
      log.error({ faults: fault.faults }, `the accounts file has faults; ${consequence}`)
    }
    version = found
  }

  return {
    async findByUsername(username) {
      const found = await versionOf(path)
      if (found !== version) {
        reading ??= read(found).finally(() => {
          reading = null
        })
        await reading
      }
      if (accounts === null) throw new Unavailable(`${path} has faults`)
      return accounts.get(nameKey(username)) ?? null
    },
    highestCost: () => highestCost,
    async close() {},
  }
}

function highestCostOf(accounts: Accounts): number {
  const costs = [...accounts.values()].map(({ passwordHash }) => costOf(passwordHash) ?? 0)
  return costs.length === 0 ? COST : Math.max(...costs)
}

/** The accounts of a file by lower-case name. Throws `ConfigurationError` with everything that is wrong with it. */
export async function readAccounts(path: string): Promise<Accounts> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (fault) {
    if (isAbsent(fault)) return new Map()
    throw fault
  }
  return new Map(parseAccounts(text, path).entries.map(entry => [nameKey(entry.username), accountOf(entry)]))
}

/** What changes whenever the file is written or replaced. */
async function versionOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`
  } catch (fault) {
    if (isAbsent(fault)) return 'absent'
    throw new Unavailable(`${path} cannot be looked at`, fault)
  }
}

const isAbsent = (fault: unknown): boolean => (fault as NodeJS.ErrnoException).code === 'ENOENT'

function accountOf({ id, username, password, ...others }: AccountEntry): Account {
  const status = others.status ?? 'ACTIVE'
  const extra = { nickname: username, avatar: null, roles: [], permissions: [], ...others, status }
  return { id, username, passwordHash: password, status, extra }
}
