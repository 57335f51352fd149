import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log/log.ts'
import type { LdapAccountsSettings } from '../settings/directory.ts'
import type { FileAccountsSettings } from './file/source.ts'
import { createHashAccounts, type HashAccountsOptions, type HashSource, withoutHash } from './hash-accounts.ts'
import type { HttpAccountsSettings } from './http.ts'
import type { Accounts } from './source.ts'
import type { SqlAccountsSettings } from './sql/source.ts'
import { createStoredFactors, type FactorPlace, type FactorsOfSide } from './stored-factors.ts'

/** The sources that return hashes. */
export type HashSourceSettings = FileAccountsSettings | SqlAccountsSettings | HttpAccountsSettings
export type AccountsSettings = HashSourceSettings | LdapAccountsSettings

export interface AccountsOptions extends HashAccountsOptions {
  log: Logger
  /** Of accounts whose source has no place for second factors. */
  factors: FactorPlace
}

/** The configured accounts of one side. A directory verifies passwords itself; every other kind is a source of hashes. */
export async function openAccounts(settings: AccountsSettings, options: AccountsOptions): Promise<Accounts> {
  const { type, clock, log, factors } = options
  if (settings.kind === 'ldap') return openDirectory(settings, clock, log, { type, place: factors })
  return createHashAccounts(await openSource(settings, clock, log), options)
}

/** Finds accounts, and verifies no password. Without `factors`, accounts of a directory have no second factor. */
export async function openFinder(
  settings: AccountsSettings,
  clock: Clock,
  log: Pick<Logger, 'error' | 'info' | 'warn'>,
  factors?: FactorsOfSide,
): Promise<Pick<Accounts, 'find' | 'close'>> {
  if (settings.kind === 'ldap') return openDirectory(settings, clock, log, factors)
  const source = await openSource(settings, clock, log)
  return {
    async find(username) {
      const found = await source.find(username)
      return found === null ? null : withoutHash(found)
    },
    close: () => source.close(),
  }
}

async function openDirectory(
  settings: LdapAccountsSettings,
  clock: Clock,
  log: Pick<Logger, 'warn'>,
  factors: FactorsOfSide | undefined,
): Promise<Accounts> {
  const { createLdapAccounts } = await import('./ldap/source.ts')
  const stored = factors === undefined ? undefined : createStoredFactors(factors)
  return createLdapAccounts(settings, { clock, log, factors: stored })
}

/**
 * No source connects to anything before the first look-up. Only the libraries of the configured source are loaded,
 * because loading all of them takes a fifth of a start.
 */
export async function openSource(
  settings: HashSourceSettings,
  clock: Clock,
  log: Pick<Logger, 'error' | 'info'>,
): Promise<HashSource> {
  switch (settings.kind) {
    case 'file':
      return (await import('./file/source.ts')).createFileAccounts(settings, log, clock)
    case 'sql':
      return (await import('./sql/source.ts')).createSqlAccounts(settings)
    case 'http':
      return (await import('./http.ts')).createHttpAccounts(settings, clock)
  }
}
