import { comparableName } from '../../base/ldap/distinguished-name.ts'
import { type Filter, readFilter } from '../../base/ldap/filter.ts'
import type { GroupSettings } from '../../settings/directory.ts'
import type { Asking } from './directory.ts'
import { sidBeside } from './identifiers.ts'
import type { Entry } from './operations.ts'

/** An account in more groups than this is a fault: a directory that answers so has not understood the question. */
const MAX_GROUPS = 5000
/** Members whose groups one search finds. */
const AT_ONCE = 50
const EVERY: Filter = { kind: 'present', attribute: 'objectClass' }

/** The attributes of an entry by which its groups are found. */
export const GROUP_ATTRIBUTES: readonly string[] = ['memberOf', 'objectSid', 'primaryGroupID']

/**
 * The names of the groups of an entry: those that it is a member of, its primary group in Active Directory, and the groups that
 * these are members of, through as many levels as the settings say. A group that the gateway may not read has no groups of its
 * own.
 */
export async function groupsOf(entry: Entry, settings: GroupSettings, asking: Asking): Promise<string[]> {
  const found = new Map<string, string>()
  /** Those that were not known. */
  const add = (names: readonly string[]): string[] => {
    const added = names.filter(name => {
      const key = comparableName(name) ?? name
      if (found.has(key)) return false
      found.set(key, name)
      return true
    })
    if (found.size > MAX_GROUPS) throw new Error(`the entry ${entry.dn} is in more than ${MAX_GROUPS} groups`)
    return added
  }
  const direct = settings.kind === 'member-of' ? namesIn(entry) : await groupsWith([entry.dn], settings, asking)
  let level = add([...direct, ...(await primaryGroupOf(entry, settings, asking))])
  for (let depth = 0; depth < settings.nested && level.length > 0; depth++)
    level = add(await groupsWith(level, settings, asking))
  return [...found.values()]
}

/** The groups of which any of these entries is a member. */
export async function groupsWith(
  members: readonly string[],
  settings: GroupSettings,
  asking: Asking,
): Promise<string[]> {
  const names: string[] = []
  for (let i = 0; i < members.length; i += AT_ONCE) {
    const some = members.slice(i, i + AT_ONCE)
    names.push(...(settings.kind === 'search' ? await searched(some, settings, asking) : await named(some, asking)))
  }
  return names
}

async function searched(members: readonly string[], { base, search }: GroupSettings, { connection, signal }: Asking) {
  const filter: Filter = { kind: 'or', filters: members.map(dn => readFilter(search, { '{dn}': dn })) }
  const question = { base, scope: 'sub', filter, attributes: [], limit: MAX_GROUPS + 1 } as const
  return (await connection.search(question, signal)).map(({ dn }) => dn)
}

/** One entry after another: a group may be anywhere in the directory. */
async function named(groups: readonly string[], { connection, signal }: Asking): Promise<string[]> {
  const names: string[] = []
  for (const base of groups) {
    const question = { base, scope: 'base', filter: EVERY, attributes: ['memberOf'], limit: 1 } as const
    const [group] = await connection.search(question, signal).catch(withoutMissing)
    if (group !== undefined) names.push(...namesIn(group))
  }
  return names
}

/** noSuchObject (RFC 4511, appendix A): also the answer about an entry that may not be read. */
const NO_SUCH_OBJECT = 32

function withoutMissing(fault: unknown): Entry[] {
  if ((fault as { code?: unknown }).code === NO_SUCH_OBJECT) return []
  throw fault
}

const namesIn = (entry: Entry): string[] => entry.values('memberOf').map(value => value.toString())

/** Active Directory names no member of this group: the user's entry has the last part of its identifier. */
async function primaryGroupOf(
  entry: Entry,
  { base }: GroupSettings,
  { connection, signal }: Asking,
): Promise<string[]> {
  const [[sid], [last]] = [entry.values('objectSid'), entry.values('primaryGroupID')]
  const value = sid === undefined || last === undefined ? null : sidBeside(sid, Number(last.toString('latin1')))
  if (value === null) return []
  const filter: Filter = { kind: 'equal', attribute: 'objectSid', value }
  const found = await connection.search({ base, scope: 'sub', filter, attributes: [], limit: 2 }, signal)
  return found.map(({ dn }) => dn)
}

/** The roles that groups give, in the order of the settings: the whole name of a group counts. */
export function createRoles(roles: Readonly<Record<string, string>>): (groups: readonly string[]) => string[] {
  const known = Object.entries(roles).map(([name, role]) => [comparableName(name), role] as const)
  return groups => {
    const names = new Set(groups.map(comparableName))
    return [...new Set(known.filter(([name]) => name !== null && names.has(name)).map(([, role]) => role))]
  }
}
