import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import type { HashSource } from '../hash-accounts.ts'
import { AccountsReader } from './accounts-reader.ts'
import { nameKey } from './document.ts'
import { FollowedFile } from './followed-file.ts'
import { fileUpdates } from './gateway-edits.ts'
import { createFileManagement } from './management.ts'
import { Writability } from './writability.ts'

export { generateAccountId } from '../id.ts'
export { addAccount, firstAccount, listAccounts, removeAccount, removeSecondFactor, setPassword } from './commands.ts'
export { readAccounts } from './read-accounts.ts'

export interface FileAccountsSettings {
  kind: 'file'
  path: string
  /** The file was there before: a missing one was removed. */
  wasThere?: boolean
}

/** Accounts in a YAML file. Every look-up checks whether the file has changed, and then reads it again. */
export function createFileAccounts(
  { path, wasThere }: FileAccountsSettings,
  log: Pick<Logger, 'error' | 'info'>,
  clock?: Clock,
): HashSource & { highestCost(): number } {
  const reader = new AccountsReader(path)
  const file = new FollowedFile(path, reader, log, wasThere)
  const writability = new Writability(path, log, clock)
  const edited = { path, reader, writability, written: (text: string) => file.written(text) }
  return {
    changes: file,
    updates: fileUpdates(edited),
    management: createFileManagement(edited, { current: () => file.current(), refresh: () => file.refresh() }),
    async find(username) {
      return (await file.current()).byName.get(nameKey(username)) ?? null
    },
    async findRights(id) {
      const account = (await file.current()).byId.get(id)
      if (account === undefined || account.status !== 'ACTIVE') return null
      const { roles, permissions } = account.extra as { roles: string[]; permissions: string[] }
      return { roles, permissions }
    },
    highestCost: () => file.highestCost,
    async close() {
      file.follow(null)
    },
  }
}
