import { existsSync } from 'node:fs'
import { listAccounts } from '../account/file/source.ts'
import { type Role, rolesOf, unknownRoles } from '../account/permissions.ts'
import { plain } from '../base/log/terminal-line.ts'
import { LOGIN_TYPES } from '../session/sides.ts'
import type { Configuration } from '../settings/load.ts'
import { accountsOf } from '../settings/served.ts'

export const unknownRoleText = (role: string, known: readonly Role[]): string =>
  `the role ${plain(role)} grants nothing here; roles of the permissions file: ${known.map(({ name }) => name).join(', ')}`

/** The roles that grant nothing, each once, with the accounts of a file or the groups of a directory that have it. */
export async function warningsOfRoles({ settings }: Configuration): Promise<string[]> {
  const known = rolesOf(settings.permissions.roles)
  const holders = new Map<string, string[]>()
  for (const type of LOGIN_TYPES) {
    const source = accountsOf(settings, type)
    for (const { name, roles } of await holdersIn(source))
      for (const role of unknownRoles(roles, known)) holders.set(role, [...(holders.get(role) ?? []), plain(name)])
  }
  return [...holders].map(([role, names]) => `${unknownRoleText(role, known)}; held by ${named(names)}`)
}

/** What is known of roles without asking: the accounts in a file, and the groups that the settings of a directory name. */
async function holdersIn(source: ReturnType<typeof accountsOf>): Promise<{ name: string; roles: readonly string[] }[]> {
  if (source === 'off') return []
  if (source.kind === 'ldap')
    return Object.entries(source.roles).map(([name, role]) => ({ name, roles: [String(role)] }))
  if (source.kind !== 'file' || !existsSync(source.path)) return []
  return (await listAccounts(source.path)).map(({ username, roles }) => ({ name: username, roles }))
}

const NAMED = 3

const named = (names: readonly string[]): string =>
  names.length > NAMED ? `${names.slice(0, NAMED).join(', ')} and ${names.length - NAMED} more` : names.join(', ')
