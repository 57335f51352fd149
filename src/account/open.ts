import type { Clock } from '../clock.ts'
import type { AccountsSettings } from '../config/schema/accounts.ts'
import type { Logger } from '../log.ts'
import type { Accounts } from './accounts.ts'

/**
 * The source of accounts that is configured. None connects to anything before it is asked for an account; only its own
 * libraries are loaded, since those of all of them are a fifth of a start.
 */
export async function openAccounts(settings: AccountsSettings, clock: Clock, log: Logger): Promise<Accounts> {
  switch (settings.kind) {
    case 'file':
      return (await import('./file/source.ts')).createFileAccounts(settings, log)
    case 'sql':
      return (await import('./sql/source.ts')).createSqlAccounts(settings)
    case 'http':
      return (await import('./http.ts')).createHttpAccounts(settings, clock)
  }
}
