import type { Clock } from '../clock.ts'
import type { AccountsSettings } from '../config/account-schema.ts'
import type { Logger } from '../log.ts'
import type { AccountSource } from './accounts.ts'
import { createFileAccounts } from './file.ts'
import { createHttpAccounts } from './http.ts'
import { createSqlAccounts } from './sql.ts'

/** The source of accounts that is configured. None connects to anything before it is asked for an account. */
export function openAccounts(settings: AccountsSettings, clock: Clock, log: Logger): AccountSource {
  switch (settings.kind) {
    case 'file':
      return createFileAccounts(settings, log)
    case 'sql':
      return createSqlAccounts(settings)
    case 'http':
      return createHttpAccounts(settings, clock)
  }
}
