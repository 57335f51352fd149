import { existsSync } from 'node:fs'
import { listAccounts } from '../account/file/source.ts'
import { type Role, rolesOf, unknownRoles } from '../account/permissions.ts'
import { plain } from '../base/log/text.ts'
import { LOGIN_TYPES } from '../session/sides.ts'
import type { Configuration } from '../settings/load.ts'
import { accountsOf } from '../settings/served.ts'

export const unknownRoleText = (role: string, known: readonly Role[]): string =>
  `the role ${plain(role)} grants nothing here; roles of the permissions file: ${known.map(({ name }) => name).join(', ')}`

/** The roles in accounts files that grant nothing, each once, with the accounts that have it. */
export async function warningsOfRoles({ settings }: Configuration): Promise<string[]> {
  const known = rolesOf(settings.permissions.roles)
  const holders = new Map<string, string[]>()
  for (const type of LOGIN_TYPES) {
    const source = accountsOf(settings, type)
    if (source === 'off' || source.kind !== 'file' || !existsSync(source.path)) continue
    for (const { username, roles } of await listAccounts(source.path))
      for (const role of unknownRoles(roles, known)) holders.set(role, [...(holders.get(role) ?? []), plain(username)])
  }
  return [...holders].map(([role, names]) => `${unknownRoleText(role, known)}; held by ${named(names)}`)
}

const NAMED = 3

const named = (names: readonly string[]): string =>
  names.length > NAMED ? `${names.slice(0, NAMED).join(', ')} and ${names.length - NAMED} more` : names.join(', ')
