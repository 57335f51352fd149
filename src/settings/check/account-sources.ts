import { LOGIN_TYPES, SIDES } from '../../session/sides.ts'
import { readDatabaseAddress } from '../database-address.ts'
import type { Report } from '../notation/written.ts'
import type { DecodedSettings } from '../schema/settings.ts'
import { accountsOf, storesSecondFactors } from '../served.ts'
import { ACCOUNT_SECTIONS } from './account-sections.ts'
import { isSameDirectory } from './directories.ts'
import { reportFaults } from './files.ts'

type Source = DecodedSettings['accounts']

/** When two sources of a kind have the same accounts, and what is then wrong with the setting of the C side. */
interface Sharing<S extends Source> {
  setting: string
  shares(consumer: S, business: S): boolean
  fault: string
}

/** For every kind of source: the compiler demands a row of a new one. */
const SHARING: { readonly [K in Source['kind']]: Sharing<Extract<Source, { kind: K }>> } = {
  file: {
    setting: 'path',
    shares: (consumer, business) => consumer.path === business.path,
    fault: 'is the file of the B-side accounts; the sides are isolated, give each a file of its own',
  },
  sql: {
    setting: 'query',
    shares: (consumer, business) => consumer.url === business.url && consumer.query === business.query,
    fault: 'finds the B-side accounts; the sides are isolated, give each a table of its own',
  },
  http: {
    setting: 'url',
    shares: (consumer, business) => consumer.url === business.url,
    fault: 'returns the B-side accounts; the sides are isolated, give each a URL of its own',
  },
  ldap: {
    setting: 'base',
    shares: isSameDirectory,
    fault: 'has the B-side accounts below it; the sides are isolated, give each a base or a filter of its own',
  },
}

/** Checks that the sides share no accounts. */
export function checkAccounts({ accounts, login: { consumer } }: DecodedSettings, report: Report): void {
  if (consumer === 'off' || consumer.kind !== accounts.kind) return
  const { setting, shares, fault } = SHARING[consumer.kind] as Sharing<Source>
  if (shares(consumer, accounts)) report(['login', 'consumer', setting], fault)
}

/** Checks the URLs of databases, without asking them. */
export function checkDatabases(settings: DecodedSettings, report: Report): void {
  for (const { path, read } of ACCOUNT_SECTIONS) {
    const section = read(settings)
    if (section === 'off' || section.kind !== 'sql') continue
    reportFaults(() => readDatabaseAddress(section.url), [...path, 'url'], report)
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
export function checkRightsQueries(settings: DecodedSettings, report: Report): void {
  const { permissions } = settings
  if (typeof permissions === 'string' || permissions.source !== 'accounts') return
  for (const { path, read } of ACCOUNT_SECTIONS) {
    const section = read(settings)
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
