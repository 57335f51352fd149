import type { Test } from 'tap'
import { stringify } from 'yaml'
import { openAccounts } from '../../../src/account/open.ts'
import type { Accounts } from '../../../src/account/source.ts'
import type { LdapAccountsSettings } from '../../../src/settings/directory.ts'
import { settingsOf } from '../../settings/folder.ts'
import { clockOf } from '../../support/clock.ts'
import { ldapConfig, type Slapd } from '../../support/slapd.ts'
import { memoryOfFactors } from '../factor-memory.ts'

export type LogLine = [level: 'warn' | 'error', about: { err?: Error; url?: string }, text: string]

/** The settings of a directory, read as those of a gateway are. */
export const ldapSettings = (t: Test, config: Record<string, unknown>): LdapAccountsSettings =>
  settingsOf(t, stringify({ accounts: config })).accounts as LdapAccountsSettings

/** A source with these settings, which ends with its test; and what it logs. */
export async function openSource(
  t: Test,
  config: Record<string, unknown>,
  { now = () => Date.now(), factors = memoryOfFactors() } = {},
) {
  const logged: LogLine[] = []
  const log = {
    warn: (about: object, text: string) => void logged.push(['warn', about, text]),
    error: (about: object, text: string) => void logged.push(['error', about, text]),
  }
  const accounts: Accounts = await openAccounts(ldapSettings(t, config), {
    type: 'BUSINESS',
    clock: clockOf(now),
    factors,
    log: log as never,
    // A directory needs neither.
    passwords: undefined as never,
    memory: undefined as never,
  })
  t.teardown(() => accounts.close())
  return Object.assign(accounts, { logged })
}

/** The same for a real server. */
export const openLdap = (t: Test, slapd: Pick<Slapd, 'url' | 'ca'>, rest: Record<string, unknown> = {}) =>
  openSource(t, ldapConfig(slapd, rest))
