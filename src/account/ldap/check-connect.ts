import { systemClock } from '../../base/clock.ts'
import { ANY, readFilter } from '../../base/ldap/filter.ts'
import { trustFault } from '../../base/tls-faults.ts'
import { type DirectorySettings, directoryOf, type LdapAccountsSettings } from '../../settings/directory.ts'
import { readCertificates } from '../../settings/tls.ts'
import { type Asking, Directory, ServiceRefused } from './directory.ts'
import { accountAttributes, readAccount } from './entry.ts'
import { GROUP_ATTRIBUTES, groupsWith } from './groups.ts'
import { DirectoryResult } from './operations.ts'

/** What one server of a directory answers to the gateway, or what to do. */
export interface ServerProbe {
  url: string
  isReached: boolean
  /** Lines for people. */
  found: readonly string[]
}

/** Entries are counted up to this number, and so many of them are read. */
const [COUNTED, READ] = [5000, 100]

/** Binds the account of the gateway at each server, searches, and reads some accounts. Changes nothing. */
export async function probeDirectory(written: LdapAccountsSettings, timeout: number): Promise<ServerProbe[]> {
  const settings = directoryOf(written)
  const ca = settings.ca === undefined ? undefined : readCertificates(settings.ca, 'ca')
  const directory = new Directory({ ...settings, ca, log: { warn: () => undefined } })
  try {
    const asked = directory.askEach(timeout, asking => look(settings, asking))
    return await Promise.all(
      asked.map(async ({ url, answer }) => {
        try {
          return { url, isReached: true, found: await answer }
        } catch (fault) {
          return { url, isReached: false, found: [adviceFor(fault, settings)] }
        }
      }),
    )
  } finally {
    await directory.close()
  }
}

async function look(settings: DirectorySettings, asking: Asking): Promise<string[]> {
  const count = await countEntries(settings, asking)
  const found = [
    `accepts ${settings.bind.dn}, finds ${count} below ${settings.base}`,
    ...(await readSome(settings, asking)),
    ...(await lookForGroups(settings, asking)),
  ]
  await searchGroups(settings, asking)
  return found
}

/** The search for groups failed, as it then does in every login. */
class GroupsUnread extends Error {}

/** Searches groups as a login does, for a member that is in none. */
async function searchGroups({ groups, base }: DirectorySettings, asking: Asking): Promise<void> {
  if (groups?.kind !== 'search') return
  try {
    await groupsWith([base], groups, asking)
  } catch (fault) {
    if (!(fault instanceof DirectoryResult) || fault.code === SIZE_LIMIT) throw fault
    throw new GroupsUnread(
      `${fault.message}; it searches no groups in ${groups.base} for bind.dn; correct base or search of groups, or let bind.dn read there`,
    )
  }
}

const everyone = (settings: DirectorySettings, attributes: readonly string[], limit: number) =>
  ({
    base: settings.base,
    scope: 'sub',
    filter: readFilter(settings.user, { '{username}': ANY }),
    attributes,
    limit,
  }) as const

/** sizeLimitExceeded (RFC 4511, appendix A) */
const SIZE_LIMIT = 4

async function countEntries(settings: DirectorySettings, { connection, signal }: Asking): Promise<string> {
  try {
    const { length } = await connection.search(everyone(settings, [], COUNTED), signal)
    return `${length === COUNTED ? 'at least ' : ''}${length} ${length === 1 ? 'account' : 'accounts'}`
  } catch (fault) {
    if (fault instanceof DirectoryResult && fault.code === SIZE_LIMIT) return 'more accounts than it lists'
    throw fault
  }
}

/** What keeps accounts from signing in, or changes of them from being noticed. */
async function readSome(settings: DirectorySettings, { connection, signal }: Asking): Promise<string[]> {
  const attributes = [...accountAttributes(settings), ...GROUP_ATTRIBUTES]
  const entries = await connection.search(everyone(settings, attributes, READ), signal)
  const now = systemClock.now()
  const faults: string[] = []
  let dated = 0
  for (const entry of entries) {
    try {
      if (readAccount(entry, settings, now).account.passwordChangedAt !== undefined) dated += 1
    } catch (fault) {
      faults.push((fault as Error).message)
    }
  }
  const some = `of the first ${entries.length}`
  return [
    ...(entries.length === 0 ? ['warning: no account can sign in; correct base, user or preset'] : []),
    ...(faults.length > 0 ? [`warning: ${faults.length} ${some} cannot sign in: ${faults[0]}`] : []),
    ...(entries.length > 0 && dated === 0
      ? [`warning: it does not show when passwords were set, ${some}: sessions do not end with a changed password`]
      : []),
  ]
}

/** Whether the groups exist that give roles. */
async function lookForGroups({ roles }: DirectorySettings, { connection, signal }: Asking): Promise<string[]> {
  const lines: string[] = []
  for (const [group, role] of Object.entries(roles)) {
    const question = { base: group, scope: 'base', filter: PRESENT, attributes: [], limit: 1 } as const
    const fault = await connection.search(question, signal).then(
      found => (found.length === 0 ? 'it does not show this group' : null),
      (fault: unknown) => {
        if (fault instanceof DirectoryResult) return `it does not show this group (${fault.message})`
        throw fault
      },
    )
    lines.push(
      fault === null ? `${group} gives the role ${role}` : `warning: ${group}: ${fault}; correct its name in roles`,
    )
  }
  return lines
}

const PRESENT = { kind: 'present', attribute: 'objectClass' } as const

function adviceFor(fault: unknown, { bind, base }: DirectorySettings): string {
  const { code, message } = fault as { code?: unknown; message: string }
  if (fault instanceof ServiceRefused && fault.policy === 'expired')
    return `${message}: the password of bind.dn, ${bind.dn}, has expired; set one there that does not, and correct bind.password`
  if (fault instanceof ServiceRefused)
    return `${message}: it refuses bind.dn, ${bind.dn}, with its password; correct bind.dn and bind.password`
  if (fault instanceof GroupsUnread) return message
  if (fault instanceof DirectoryResult) return `${message}; ${RESULTS[fault.code]?.(base) ?? 'correct base and user'}`
  const distrust = trustFault(fault)
  if (distrust !== null)
    return `${code}: its certificate is not trusted: ${distrust}; name its authority in ca, or correct the name in url`
  return `${message}; start it, or correct url`
}

const RESULTS: Readonly<Record<number, (base: string) => string>> = {
  8: () => 'it demands TLS',
  10: base => `another server has ${base}; name that server in url`,
  13: () => 'it demands TLS',
  32: base => `it does not show ${base} to bind.dn; correct base, or let bind.dn read there`,
  50: () => 'let bind.dn read below base',
}
