import t, { type Test } from 'tap'
import { stringify as toYaml } from 'yaml'
import { directoryOf, type LdapAccountsSettings, PRESETS } from '../../src/settings/directory.ts'
import { readConfiguration } from '../../src/settings/load.ts'
import { BESIDE, faultsOf as faultLines, folderWith, settingsOf } from './folder.ts'

/* The settings of accounts in a directory. */

const BASE = 'OU=Staff,DC=example,DC=com'
const LDAP = {
  kind: 'ldap',
  preset: 'active-directory',
  url: 'ldaps://dc1.example.com',
  bind: { dn: 'CN=dualgate,OU=Services,DC=example,DC=com', password: 'secret' },
  base: BASE,
}

const stringify = (value: object): string => toYaml(value, { aliasDuplicateObjects: false })
/** The settings with their faults, without the places. */
const faultsOf = (t: Test, yaml: string): string[] =>
  faultLines(t, yaml).map(text => text.replace(/^\S+ (\S+): /, '$1 '))

const read = (t: Test, rest: Record<string, unknown> = {}, environment = {}) =>
  settingsOf(t, stringify({ accounts: { ...LDAP, ...rest } }), environment).accounts as LdapAccountsSettings
const faults = (t: Test, rest: Record<string, unknown>) => faultsOf(t, stringify({ accounts: { ...LDAP, ...rest } }))

t.test('a preset gives what is not written, and what is written counts', async t => {
  t.same(directoryOf(read(t)), {
    servers: ['ldaps://dc1.example.com'],
    startTls: false,
    ca: undefined,
    bind: LDAP.bind,
    base: BASE,
    user: '(&(objectCategory=person)(objectClass=user)(sAMAccountName={username}))',
    id: 'objectGUID',
    attributes: { username: 'sAMAccountName', nickname: 'displayName' },
    groups: { kind: 'member-of', base: 'DC=example,DC=com', search: PRESETS['active-directory'].search, nested: 0 },
    roles: {},
    timeout: 3000,
  })
  const written = {
    preset: 'openldap',
    url: ['ldaps://a', 'ldaps://b:1636'],
    id: 'uid',
    user: '(|(mail={username})(uid={username}))',
    attributes: { nickname: 'displayName', email: 'mail' },
    groups: { kind: 'search', base: 'OU=G,DC=example,DC=com', search: '(uniqueMember={dn})', nested: 5 },
    roles: { 'CN=Ops,DC=example,DC=com': 'operator' },
    timeout: '10s',
  }
  t.match(directoryOf(read(t, written)), {
    servers: written.url,
    user: written.user,
    id: 'uid',
    attributes: { username: 'uid', nickname: 'displayName', email: 'mail' },
    groups: written.groups,
    roles: written.roles,
    timeout: 10_000,
  })
  t.match(directoryOf(read(t, { preset: 'openldap' })).groups, { kind: 'search' })
  t.match(directoryOf(read(t, { preset: 'freeipa' })), { id: 'ipaUniqueID', groups: { kind: 'member-of' } })
  t.equal(directoryOf(read(t, { groups: 'off' })).groups, null)
  t.equal(read(t).recheck, 300_000)
})

t.test('the password comes from the environment, and no message has it', async t => {
  const { bind, ...config } = LDAP
  const yaml = stringify({ accounts: { ...config, bind: { dn: bind.dn } } })
  const environment = { ACCOUNTS__BIND__PASSWORD: 'from the environment' }
  t.match(settingsOf(t, yaml, environment).accounts, { bind: { password: 'from the environment' } })
  t.match(faultsOf(t, yaml), [/accounts\.bind\.password is missing/])
  t.notMatch(faults(t, { bind: { dn: 'x', password: 'secret' } }).join(), 'secret')
  t.match(settingsOf(t, yaml, { ...environment, ACCOUNTS__URL: '[ldaps://a, ldaps://b]' }).accounts, {
    url: ['ldaps://a', 'ldaps://b'],
  })
})

t.test('the consumer side may have a directory, but not that of the other', async t => {
  const both = (rest: object) => faultsOf(t, stringify({ accounts: LDAP, login: { consumer: { ...LDAP, ...rest } } }))
  t.match(both({}), [/login\.consumer\.base has the B-side accounts/])
  t.match(both({ base: 'ou=staff, dc=EXAMPLE,dc=com' }), [/login\.consumer\.base has the B-side accounts/])
  t.same(both({ base: 'OU=Customers,DC=example,DC=com' }), [])
  t.same(both({ url: 'ldaps://customers.example.com' }), [])
})

t.test('settings that would send passwords unencrypted are refused', async t => {
  t.match(faults(t, { url: 'ldap://dc1' }), [/accounts\.url would send passwords unencrypted to ldap:\/\/dc1/])
  t.match(faults(t, { url: ['ldaps://dc1', 'ldap://dc2'] }), [/accounts\.url would send .* to ldap:\/\/dc2/])
  t.same(faults(t, { url: 'ldap://dc1', start_tls: 'on' }), [])
  t.match(faults(t, { start_tls: 'on' }), [/accounts\.start_tls has no effect/])
  t.match(faults(t, { ca: 'none.pem' }), [/accounts\.ca .*none\.pem no such file/])
})

t.test('a faulty setting of a directory is named with what to do', async t => {
  const cases: [rest: Record<string, unknown>, fault: RegExp][] = [
    [{ preset: 'novell' }, /accounts\.preset must be active-directory, openldap or freeipa/],
    [{ url: 'https://dc1' }, /accounts\.url must be ldaps:\/\/host/],
    [{ url: [] }, /accounts\.url must have at least 1 entry/],
    [{ bind: { dn: 'EXTERNAL', password: 'x' } }, /accounts\.bind\.dn must be a distinguished name/],
    [{ bind: { dn: 'cn=a', password: '' } }, /accounts\.bind\.password must be a password/],
    [{ base: 'example.com' }, /accounts\.base is not a distinguished name/],
    [{ user: '(sAMAccountName=jane)' }, /accounts\.user has no \{username\}/],
    [{ user: 'sAMAccountName={username}' }, /accounts\.user is not a filter .*: it needs \( at 1/],
    [{ user: '(sAMAccountName={username}*)' }, /accounts\.user must compare \{username\} as a whole value/],
    [{ user: '(!(sAMAccountName={username}))' }, /accounts\.user must compare/],
    [{ user: '(mail={username})' }, /accounts\.user does not find .*; use \(\|\(mail=\{username\}\)\(sAMAccountName=/],
    [{ user: '(sAMAccountName={username}@x)' }, /accounts\.user does not find an account by attributes\.username/],
    [{ attributes: { username: 'mail' } }, /accounts\.user does not find .*\(mail=\{username\}\)\), or another/],
    [{ id: 'object GUID' }, /accounts\.id must be the name of an attribute/],
    [{ attributes: { roles: 'memberOf' } }, /accounts\.attributes\.roles does not come from an attribute/],
    [{ attributes: { 'e-mail': 'mail' } }, /accounts\.attributes\.e-mail must be a name/],
    [{ groups: { kind: 'search', search: '(member=x)' } }, /accounts\.groups\.search has no \{dn\}/],
    [{ groups: { kind: 'search', base: 'x' } }, /accounts\.groups\.base is not a distinguished name/],
    [{ groups: { kind: 'member-of', nested: 0 } }, /accounts\.groups\.nested must be off, or a whole number/],
    [{ roles: { Ops: 'operator' } }, /accounts\.roles\.Ops is not the distinguished name of a group/],
    [{ roles: { 'CN=a,DC=b': 'x', 'cn=A, dc=B': 'y' } }, /accounts\.roles.* is the same group as CN=a,DC=b/],
    [{ roles: { 'CN=a,DC=b': 'x' }, groups: 'off' }, /accounts\.roles has no effect, because groups is off/],
  ]
  for (const [rest, fault] of cases) t.match(faults(t, rest), [fault], JSON.stringify(rest))
})

t.test('a second factor can be demanded of users of a directory', async t => {
  const demand = (second_factor: object) => faultsOf(t, stringify({ accounts: LDAP, login: { second_factor } }))
  for (const accounts of ['all', ['SUPER_ADMIN'], 'optional']) t.same(demand({ for: accounts }), [], `${accounts}`)
})

t.test(
  'the administrator of a directory as the account of the gateway is warned of, and a role that grants nothing',
  async t => {
    const warnings = (accounts: object) => {
      const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': stringify({ accounts }) })
      return readConfiguration('gateway.yaml', {}, folder).warnings.map(({ message }) => message)
    }
    const isWarned = (dn: string) =>
      warnings({ ...LDAP, bind: { dn, password: 'x' } }).some(message => message.startsWith('is the administrator'))
    const owners = [
      'cn=admin,dc=x',
      'CN=Administrator,CN=Users,DC=x',
      'cn=Directory Manager',
      'X\\administrator',
      'administrator@x',
    ]
    for (const dn of [...owners, 'uid=admin,cn=users,dc=x']) t.ok(isWarned(dn), dn)
    for (const dn of ['cn=dualgate,dc=x', 'cn=admin reader,dc=x', 'dualgate@x']) t.notOk(isWarned(dn), dn)
  },
)
