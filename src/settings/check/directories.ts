import { comparableName } from '../../base/ldap/distinguished-name.ts'
import { type FilterPlace, placesIn } from '../../base/ldap/filter.ts'
import { type DirectorySettings, directoryOf, type LdapAccountsSettings } from '../directory.ts'
import type { KeyPath, Report } from '../notation/written.ts'
import type { DecodedSettings } from '../schema/settings.ts'
import { readCertificates } from '../tls.ts'
import { ACCOUNT_SECTIONS } from './account-sections.ts'
import { reportFaults } from './files.ts'

/** Checks the directories of both sides, as far as this can be done without asking them. */
export function checkDirectories(settings: DecodedSettings, report: Report): void {
  for (const { path, read } of ACCOUNT_SECTIONS) {
    const section = read(settings)
    if (section === 'off' || section.kind !== 'ldap') continue
    const reportAt: Report = (inner, message) => report([...path, ...inner], message)
    const directory = directoryOf(section)
    for (const check of CHECKS) check(section, directory, reportAt)
  }
}

/** Whether two sides would find the same accounts. */
export function isSameDirectory(one: LdapAccountsSettings, other: LdapAccountsSettings): boolean {
  const [a, b] = [directoryOf(one), directoryOf(other)]
  const isSameServer = a.servers.some(server => b.servers.includes(server))
  return isSameServer && a.user === b.user && comparableName(a.base) === comparableName(b.base)
}

type Check = (settings: LdapAccountsSettings, directory: DirectorySettings, report: Report) => void

const CHECKS: readonly Check[] = [checkTls, checkNames, checkUserFilter, checkGroupFilter, checkAttributes, checkRoles]

/** Passwords of people go over these connections. */
function checkTls({ ca, start_tls }: LdapAccountsSettings, { servers }: DirectorySettings, report: Report): void {
  const plain = servers.find(server => server.startsWith('ldap:'))
  if (plain !== undefined && !start_tls)
    report(['url'], `would send passwords unencrypted to ${plain}; use ldaps://, or set start_tls: on`)
  if (plain === undefined && start_tls)
    report(['start_tls'], 'has no effect: connections to ldaps:// begin with TLS; remove it, or use ldap://')
  if (ca !== undefined) reportFaults(() => readCertificates(ca, 'ca'), ['ca'], report)
}

function checkNames(settings: LdapAccountsSettings, { groups }: DirectorySettings, report: Report): void {
  const check = (name: string, path: KeyPath): void => {
    if (comparableName(name) === null)
      report(path, 'is not a distinguished name such as OU=Staff,DC=example,DC=com; escape special characters with \\')
  }
  check(settings.base, ['base'])
  if (groups !== null && typeof settings.groups === 'object' && settings.groups.base !== undefined)
    check(groups.base, ['groups', 'base'])
}

/** A session is checked again by the name of its account, so `user` has to find the entry by that as well. */
function checkUserFilter(_: LdapAccountsSettings, { user, attributes }: DirectorySettings, report: Report): void {
  const places = placesOf(user, '{username}', ['user'], report)
  const isFound = ({ isWhole, attribute }: FilterPlace): boolean =>
    isWhole && attribute.toLowerCase() === attributes.username.toLowerCase()
  if (places === null || places.some(isFound)) return
  const or = `(|${user}(${attributes.username}={username}))`
  report(['user'], `does not find an account by attributes.username; use ${or}, or another attribute`)
}

function checkGroupFilter(_: LdapAccountsSettings, { groups }: DirectorySettings, report: Report): void {
  if (groups?.kind === 'search') placesOf(groups.search, '{dn}', ['groups', 'search'], report)
}

/** Where a filter has its placeholder; `null` after a report. */
function placesOf(filter: string, placeholder: string, path: KeyPath, report: Report): FilterPlace[] | null {
  const fault = (message: string): null => {
    report(path, message)
    return null
  }
  try {
    const places = placesIn(filter, placeholder)
    if (places.length === 0) return fault(`has no ${placeholder}: it would find the same for all`)
    if (places.every(({ isCompared }) => isCompared)) return places
    return fault(`must compare ${placeholder} as a whole value, without * beside it, without ! around it, and by =`)
  } catch (error) {
    return fault(`is not a filter such as (uid={username}): it ${(error as Error).message}`)
  }
}

/** Fields of a session that have another source. */
const OTHERS: ReadonlySet<string> = new Set(['id', 'status', 'roles'])

function checkAttributes({ attributes }: LdapAccountsSettings, _: DirectorySettings, report: Report): void {
  for (const name of Object.keys(attributes)) {
    if (OTHERS.has(name)) report(['attributes', name], 'does not come from an attribute; remove it')
    else if (!/^[A-Za-z_]\w{0,63}$/.test(name)) report(['attributes', name], 'must be a name of letters, digits and _')
  }
}

function checkRoles({ roles }: LdapAccountsSettings, { groups }: DirectorySettings, report: Report): void {
  const seen = new Map<string, string>()
  for (const name of Object.keys(roles)) {
    const group = comparableName(name)
    const other = group === null ? undefined : seen.get(group)
    if (group === null) report(['roles', name], 'is not the distinguished name of a group, from its CN to its DC')
    else if (other !== undefined) report(['roles', name], `is the same group as ${other}; remove one of them`)
    else seen.set(group, name)
  }
  if (groups === null && seen.size > 0) report(['roles'], 'has no effect, because groups is off; remove one of them')
}
