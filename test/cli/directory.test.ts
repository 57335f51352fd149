import { existsSync } from 'node:fs'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { BESIDE, folderWith } from '../settings/folder.ts'
import { run } from '../support/command-line.ts'
import { startLdapServer } from '../support/ldap-server.ts'
import { freePort } from '../support/ports.ts'
import {
  addGroup,
  addPerson,
  ldapConfig,
  SERVICE,
  type Slapd,
  SUFFIX,
  startSlapd,
  unitOf,
  withoutSlapd,
} from '../support/slapd.ts'
import { answerUnknownName, UNKNOWN_NAME } from '../support/unknown-name.ts'

/* `dualgate check --connect` and `dualgate account` with a directory. */

/** Its exit code, and the lines about the accounts. */
async function connect(t: Test, accounts: Record<string, unknown>, environment: Record<string, string> = {}) {
  const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': stringify({ accounts }) })
  const found = await run(folder, ['check', '--connect', '--config', 'gateway.yaml'], { environment })
  t.notOk(existsSync(`${folder}/data`), 'nothing is created')
  const lines = found.output
    .split('\n')
    .flatMap(line => /^ +((?:NOT )?REACHED|reached) +accounts (.*)$/i.exec(line)?.slice(1, 3).join(' ') ?? [])
  return { code: found.code, output: found.output + found.errors, lines }
}

t.test('commands about a directory', { skip: withoutSlapd }, async t => {
  const slapd = await startSlapd(t)
  const base = await unitOf(slapd, 'people')
  const jane = await addPerson(slapd, base, 'jane', { cn: 'Jane Doe' })
  await addPerson(slapd, base, 'john')
  const ops = await addGroup(slapd, base, 'ops', jane)
  const all = await addGroup(slapd, base, 'all', ops)

  await t.test('check --connect says what a directory has, and which groups give roles', async t => {
    const roles = { [ops]: 'operator', [`cn=gone,${base}`]: 'auditor' }
    const { code, lines } = await connect(t, ldapConfig(slapd, { base, roles }))
    t.equal(code, 0)
    t.match(lines, [
      `reached (${slapd.url}): accepts ${SERVICE.dn}, finds 2 accounts below ${base}`,
      `reached (${slapd.url}): ${ops} gives the role operator`,
      /^reached .*: warning: cn=gone,.*: it does not show this group \(result 32.*\); correct its name in roles$/,
    ])
  })

  await t.test('check --connect says what to do about each fault', async t => {
    const other = await startSlapd(t, { names: 'DNS:other.example' })
    answerUnknownName(t)
    const cases: [statement: string, config: Record<string, unknown>, found: RegExp][] = [
      [
        'a wrong password',
        { bind: { ...SERVICE, password: 'wrong' } },
        /refuses bind\.dn, .*correct bind\.dn and bind\.password/,
      ],
      ['no server', { url: `ldaps://localhost:${await freePort()}` }, /ECONNREFUSED.*; start it, or correct url/],
      ['no such name', { url: `ldaps://${UNKNOWN_NAME}` }, /ENOTFOUND.*; start it, or correct url/],
      ['an unknown authority', { ca: other.ca }, /its certificate is not trusted: .*; name its authority in ca/],
      ['another name', { url: other.url, ca: other.ca }, /not trusted: .*does not match.*correct the name in url/],
      [
        'no such base',
        { base: `ou=none,${SUFFIX}` },
        /it does not show ou=none.*; correct base, or let bind\.dn read there/,
      ],
      [
        'no such base of groups',
        { groups: { kind: 'search', base: `ou=none,${SUFFIX}` } },
        /result 32.*; it searches no groups in ou=none.*; correct base or search of groups, or let bind\.dn read there/,
      ],
    ]
    for (const [statement, config, found] of cases) {
      const { code, lines, output } = await connect(t, ldapConfig(slapd, { base, ...config }))
      t.equal(code, 1, statement)
      t.match(lines[0], found, statement)
      t.match(lines[0], /^NOT REACHED/, statement)
      t.notMatch(output, SERVICE.password)
    }
  })

  await t.test('check --connect says so where the password of its account has expired', async t => {
    const server = await startLdapServer(t)
    // passwordExpired; the connection is then that of an unknown client, which may search here.
    server.respond = ({ kind }) => (kind === 'bind' ? { code: 49, policy: '3003810100' } : { code: 0 })
    const { code, lines } = await connect(t, ldapConfig(server, { base }))
    t.equal(code, 1)
    t.match(lines, [/^NOT REACHED .*: result 49: the password of bind\.dn, .*, has expired; .*correct bind\.password$/])
  })

  await t.test('check --connect warns where no account can sign in', async t => {
    const { code, lines } = await connect(t, ldapConfig(slapd, { base, user: '(&(objectClass=none)(uid={username}))' }))
    t.equal(code, 0)
    t.match(lines, [/finds 0 accounts/, /^reached .*: warning: no account can sign in; correct base, user or preset$/])
  })

  await t.test('check --connect asks every server, and names accounts that cannot sign in', async t => {
    const silent = await startLdapServer(t)
    silent.respond = () => 'close'
    const url = [slapd.url, silent.url]
    const { code, lines } = await connect(t, ldapConfig(slapd, { base, url, id: 'employeeNumber' }))
    t.equal(code, 1)
    t.match(lines[1], /^reached .*warning: 2 of the first 2 cannot sign in: the entry uid=.* has no employeeNumber/)
    t.match(lines.at(-1), new RegExp(`^NOT REACHED \\(${silent.url}\\)`))
  })

  await t.test('check --connect warns of a directory that hides when passwords were set', async t => {
    const people = await unitOf(slapd, 'people', 'dc=free,dc=test')
    await addPerson(slapd, people, 'jane')
    const { code, lines } = await connect(t, ldapConfig(slapd, { base: people }))
    t.equal(code, 0)
    t.match(lines[1], /warning: it does not show when passwords were set/)
  })

  await account(t, slapd, { base, ops, all })
})

async function account(t: Test, slapd: Slapd, { base, ops, all }: { base: string; ops: string; all: string }) {
  const groups = { kind: 'search', nested: 3 }
  const { bind, ...config } = ldapConfig(slapd, { base, roles: { [ops]: 'operator' }, groups })
  const accounts = { ...config, bind: { dn: bind.dn } }
  const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': stringify({ accounts }) })
  const environment = { ACCOUNTS__BIND__PASSWORD: SERVICE.password }
  const command = (...words: string[]) =>
    run(folder, ['account', ...words, '--config', 'gateway.yaml'], { environment })

  await t.test(
    'account show prints an account of a directory with its groups, by which roles can be given',
    async t => {
      const { entryUUID } = await slapd.read(`uid=jane,${base}`, ['entryUUID'])
      const { code, output } = await command('show', 'JANE')
      t.equal(code, 0)
      t.same(output.replace(/^(password changed: +)\S+$/m, '$1…').split('\n'), [
        'username:         jane',
        `id:               ${entryUUID}`,
        'nickname:         Jane Doe',
        'status:           ACTIVE',
        'roles:            operator',
        'permissions:',
        `groups:           ${ops}`,
        `                  ${all}`,
        'password changed: …',
        'second factor:    not known',
        '',
      ])
      t.match(await command('show', 'nobody'), { code: 1, errors: /there is no account nobody/ })
      t.match(await command('reset-second-factor', 'jane'), { code: 1, errors: /there is no store in .*data$/m })
      t.notOk(existsSync(`${folder}/data`), 'and no command makes one')
    },
  )

  await t.test('account changes nothing in a directory', async t => {
    for (const words of [['add', 'x'], ['passwd', 'jane'], ['remove', 'jane'], ['list']])
      t.match(
        await command(...words),
        { code: 1, errors: /these accounts come from ldap and are managed there/ },
        words.join(' '),
      )
  })

  await t.test('account show says what is wrong with a directory, without its password', async t => {
    const words = ['account', 'show', 'jane', '--config', 'gateway.yaml']
    const wrong = { ACCOUNTS__BIND__PASSWORD: 'another-password' }
    const { code, errors } = await run(folder, words, { environment: wrong })
    t.equal(code, 1)
    t.match(errors, /the directory of the accounts: result 49/)
    t.notMatch(errors, 'another-password')
  })
}
