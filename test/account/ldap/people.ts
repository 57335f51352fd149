import { type LdapEntry, type LdapServer, startLdapServer } from '../../support/ldap-server.ts'
import { SERVICE } from '../../support/slapd.ts'

const BASE = 'dc=example,dc=com'

/** A directory of people with one password, without a real server. */
export interface People extends LdapServer {
  /** The id of an entry, which is the login id of its account. */
  idOf(name: string): string
  password: string
  /** The settings of a source with this directory. */
  config: Record<string, unknown>
}

/** A directory with these people, which ends with its test. No name may be a part of another one. */
export async function startPeople(t: { teardown(end: () => void): void }, names: readonly string[]): Promise<People> {
  const server = await startLdapServer(t)
  const password = 'correct horse 5'
  const idOf = (name: string): string => `00000000-0000-4000-8000-${String(names.indexOf(name)).padStart(12, '0')}`
  const dnOf = (name: string): string => `uid=${name},${BASE}`
  const entryOf = (name: string): LdapEntry => ({
    dn: dnOf(name),
    attributes: { uid: [name], cn: [name], entryUUID: [idOf(name)], pwdChangedTime: ['20250101000000Z'] },
  })
  server.respond = request => {
    if (request.kind === 'search')
      return { code: 0, entries: names.filter(name => request.filter.includes(name)).map(entryOf) }
    const isRight =
      request.dn === SERVICE.dn || (names.some(name => request.dn === dnOf(name)) && request.password === password)
    return { code: isRight ? 0 : 49 }
  }
  const { url, ca } = server
  const config = { kind: 'ldap', preset: 'openldap', url, ca, bind: SERVICE, base: BASE, timeout: '60s' }
  return Object.assign(server, { idOf, password, config })
}
