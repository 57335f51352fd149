import { domainOf } from '../base/ldap/distinguished-name.ts'
import type { DecodedSettings } from './schema/settings.ts'

/** The settings of a directory as they are written. */
export type LdapAccountsSettings = Extract<DecodedSettings['accounts'], { kind: 'ldap' }>

/** How the groups of an entry are found. */
export interface GroupSettings {
  kind: 'member-of' | 'search'
  base: string
  search: string
  /** Levels of groups that are members of groups. */
  nested: number
}

/** The settings of a directory, with what its preset adds. */
export interface DirectorySettings {
  servers: readonly string[]
  startTls: boolean
  ca: string | undefined
  bind: LdapAccountsSettings['bind']
  base: string
  /** Finds the entry of `{username}`. */
  user: string
  id: string
  /** Attributes by the names that they get in the session; `username` is one of them. */
  attributes: Readonly<Record<string, string>> & { username: string }
  groups: GroupSettings | null
  /** Roles by the distinguished names of groups. */
  roles: Readonly<Record<string, string>>
  /** Milliseconds. */
  timeout: number
}

interface Preset {
  user: string
  id: string
  attributes: { username: string; nickname: string }
  groups: 'member-of' | 'search'
  /** Finds the groups of an entry. */
  search: string
}

export const PRESETS: Readonly<Record<LdapAccountsSettings['preset'], Preset>> = {
  'active-directory': {
    // Computers are users, too, but no persons.
    user: '(&(objectCategory=person)(objectClass=user)(sAMAccountName={username}))',
    id: 'objectGUID',
    attributes: { username: 'sAMAccountName', nickname: 'displayName' },
    groups: 'member-of',
    search: '(&(objectClass=group)(member={dn}))',
  },
  openldap: {
    user: '(&(objectClass=inetOrgPerson)(uid={username}))',
    id: 'entryUUID',
    attributes: { username: 'uid', nickname: 'cn' },
    groups: 'search',
    search: '(&(objectClass=groupOfNames)(member={dn}))',
  },
  freeipa: {
    user: '(&(objectClass=posixAccount)(uid={username}))',
    id: 'ipaUniqueID',
    attributes: { username: 'uid', nickname: 'displayName' },
    groups: 'member-of',
    search: '(&(objectClass=groupOfNames)(member={dn}))',
  },
}

export function directoryOf(settings: LdapAccountsSettings): DirectorySettings {
  const { url, start_tls, ca, bind, base, roles, timeout } = settings
  const preset = PRESETS[settings.preset]
  const { user = preset.user, id = preset.id, attributes } = settings
  return {
    servers: typeof url === 'string' ? [url] : url,
    startTls: start_tls,
    ca,
    bind,
    base,
    user,
    id,
    attributes: { ...preset.attributes, ...attributes } as DirectorySettings['attributes'],
    groups: groupsOf(settings, preset),
    roles: roles as Record<string, string>,
    timeout,
  }
}

function groupsOf({ base, groups }: LdapAccountsSettings, preset: Preset): GroupSettings | null {
  if (groups === 'off') return null
  const { kind = preset.groups, base: below = domainOf(base), nested = 'off' } = groups ?? {}
  const search = groups?.kind === 'search' && groups.search !== undefined ? groups.search : preset.search
  return { kind, base: below, search, nested: nested === 'off' ? 0 : nested }
}
