import { LOGIN_TYPES, SIDES } from '../../session/sides.ts'
import type { Report } from '../notation/written.ts'
import type { DecodedSettings } from '../schema/settings.ts'
import { accountsOf, storesSecondFactors } from '../served.ts'
import { isSameDirectory } from './directories.ts'

/** Checks that the sides share no accounts. */
export function checkAccounts({ accounts, login }: DecodedSettings, report: Report): void {
  const { consumer } = login
  if (consumer === 'off') return
  if (consumer.kind === 'file' && accounts.kind === 'file' && consumer.path === accounts.path) {
    report(
      ['login', 'consumer', 'path'],
      'is the file of the B-side accounts; the sides are isolated, give each a file of its own',
    )
  }
  if (
    consumer.kind === 'sql' &&
    accounts.kind === 'sql' &&
    consumer.url === accounts.url &&
    consumer.query === accounts.query
  ) {
    report(
      ['login', 'consumer', 'query'],
      'finds the B-side accounts; the sides are isolated, give each a table of its own',
    )
  }
  if (consumer.kind === 'http' && accounts.kind === 'http' && consumer.url === accounts.url) {
    report(
      ['login', 'consumer', 'url'],
      'returns the B-side accounts; the sides are isolated, give each a URL of its own',
    )
  }
  if (consumer.kind === 'ldap' && accounts.kind === 'ldap' && isSameDirectory(consumer, accounts)) {
    report(
      ['login', 'consumer', 'base'],
      'has the B-side accounts below it; the sides are isolated, give each a base or a filter of its own',
    )
  }
}

/** Only accounts in a file can be administered. */
export function checkAccountAdministration(
  { account_administration, accounts, login }: DecodedSettings,
  report: Report,
): void {
  const isInFile = accounts.kind === 'file' || (login.consumer !== 'off' && login.consumer.kind === 'file')
  if (account_administration !== true || isInFile) return
  report(
    ['account_administration'],
    `has no effect: these accounts come from ${accounts.kind} and are managed there; remove it`,
  )
}

/** Rights by login id need a query of their own. */
export function checkRightsQueries({ accounts, login, permissions }: DecodedSettings, report: Report): void {
  if (typeof permissions === 'string' || permissions.source !== 'accounts') return
  const places = [
    { section: accounts, path: ['accounts'] },
    { section: login.consumer, path: ['login', 'consumer'] },
  ]
  for (const { section, path } of places) {
    if (section === 'off' || section.kind !== 'sql' || section.rights_query !== undefined) continue
    report(
      [...path, 'rights_query'],
      'is missing; permissions.source: accounts needs it: SELECT id, status, roles, permissions FROM … WHERE id = :id',
    )
  }
}

/** Users who must have a second factor set it up at their next login: without a place to store it they could not sign in. */
export function checkRequiredFactors(settings: DecodedSettings, report: Report): void {
  const { second_factor } = settings.login
  if (second_factor.for === 'off' || second_factor.for === 'optional') return
  const unable = LOGIN_TYPES.filter(
    type => accountsOf(settings, type) !== 'off' && !storesSecondFactors(settings, type),
  )
  for (const type of unable) {
    report(
      ['login', 'second_factor', 'for'],
      `demands second factors of accounts on the ${SIDES[type].name} side, which are not stored; set update.second_factor or update_url beside their source, or use optional`,
    )
  }
}
