import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t, { type Test } from 'tap'
import type { Account, SourceLogin } from '../../../src/account/source.ts'
import {
  addGroup,
  addPerson,
  PERSON_PASSWORD,
  type Slapd,
  SUFFIX,
  startSlapd,
  unitOf,
  withoutSlapd,
} from '../../support/slapd.ts'
import { until } from '../../support/until.ts'
import { reasonOf } from '../source-contract.ts'
import { openLdap } from './ldap-fixture.ts'

/*
 * The laws of accounts in a directory, against a real one. What reaches it is read from its own log.
 */

t.test('accounts in slapd', { skip: withoutSlapd }, async t => {
  const slapd = await startSlapd(t)
  let units = 0
  const unit = () => unitOf(slapd, `unit-${units++}`)
  const test = (statement: string, body: (t: Test, base: string) => Promise<void>) =>
    t.test(statement, async t => body(t, await unit()))

  await test('passwords that are empty, have a NUL or are over 1024 bytes do not reach the directory', async (t, base) => {
    const dn = await addPerson(slapd, base, 'jane')
    const source = await openLdap(t, slapd, { base })
    const jane = await source.find('jane')
    const lines = slapd.follow()
    for (const password of ['', '\0', '\0\0\0', '\0x', 'a\0', 'x'.repeat(1025), 'ü'.repeat(513), '\ud800', null])
      for (const account of [jane, null])
        t.equal(await source.verify(account, password), false, JSON.stringify(password))
    t.same(await lines(/ BIND /), [])
    for (const length of [73, 1024]) {
      const password = 'x'.repeat(length)
      await slapd.modify(dn, { userPassword: password })
      t.equal(await source.verify(jane, password), true, `${length} bytes`)
      t.equal(await source.verify(jane, `${password.slice(1)}y`), false, `${length} other bytes`)
    }
  })

  await test('a name is a value and never part of a filter', async (t, base) => {
    const names = ['*', '(uid=*)', ')(uid=*', '*)(objectClass=*', '\\2a', 'a\\', '# x', 'a,b', 'a=b', 'ä*', 'a\\c3\\a4']
    await addPerson(slapd, base, 'jane')
    const source = await openLdap(t, slapd, { base })
    for (const name of names) t.equal(await source.find(name), null, name)
    for (const name of names) await addPerson(slapd, base, name)
    for (const name of names) t.equal((await source.find(name))?.username, name, name)
    t.equal(await source.find('\0'), null)
  })

  await test('a name of an entry is a value: with quotes, commas and brackets it still has its groups', async (t, base) => {
    const names = ['Doe, "Jane" (EXT)', '#1', ' x ', 'a+b=c', '<&>;', 'č\\*', '*']
    const roles: Record<string, string> = {}
    for (const [index, name] of names.entries())
      roles[await addGroup(slapd, base, `for ${name}`, await addPerson(slapd, base, name))] = `role-${index}`
    for (const kind of ['search', 'member-of']) {
      const source = await openLdap(t, slapd, { base, roles, groups: { kind } })
      for (const [index, name] of names.entries())
        t.same((await source.find(name))?.extra.roles, [`role-${index}`], `${kind} ${name}`)
    }
  })

  await test('a login goes by the name and the id of the entry, and not by what was typed', async (t, base) => {
    const dn = await addPerson(slapd, base, 'Jane', { mail: 'jane@example.com' })
    const { entryUUID } = await slapd.read(dn, ['entryUUID'])
    const user = '(|(uid={username})(mail={username}))'
    const source = await openLdap(t, slapd, { base, user })
    for (const typed of ['Jane', 'jane', 'JANE', ' jane ', 'jane@EXAMPLE.com', 'ｊａｎｅ'])
      t.match(await source.find(typed), { id: entryUUID, username: 'Jane' }, typed)
  })

  await test('two entries for one name are a fault of the directory, whatever it limits', async (t, base) => {
    for (const name of ['a', 'b']) await addPerson(slapd, base, name, { mail: 'shared@example.com' })
    const source = await openLdap(t, slapd, { base, user: '(|(uid={username})(mail={username}))' })
    t.equal(await reasonOf(source.find('shared@example.com')), 'UNAVAILABLE')
    t.equal((await source.find('a'))?.username, 'a')
  })

  await test('an attempt is one bind, on a connection of its own, and an unknown name costs one, too', async (t, base) => {
    const dn = await addPerson(slapd, base, 'jane')
    const source = await openLdap(t, slapd, { base })
    const [jane, unknown] = [await source.find('jane'), await source.find('john')]
    for (const [account, password, name] of [
      [jane, PERSON_PASSWORD, dn],
      [jane, 'wrong', dn],
      [unknown, PERSON_PASSWORD, `cn=[0-9a-f]{16},${base}`],
    ] as const) {
      const lines = slapd.follow()
      await source.verify(account, password)
      const binds = await lines(/ BIND .* method=/)
      t.equal(binds.length, 1)
      t.match(binds[0], new RegExp(`BIND dn="${name}"`))
      const connection = /conn=\d+/.exec(binds[0]!)![0]
      t.equal((await lines(new RegExp(`${connection} .*ACCEPT`))).length, 1, 'a new connection')
      t.equal((await lines(new RegExp(`${connection} .*SRCH`))).length, 0)
      await until(async () => (await lines(new RegExp(`${connection} .*closed`))).length === 1)
    }
  })

  await test('a referral is not followed, and what it names receives nothing', async (t, base) => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => void server.close())
    let connections = 0
    server.on('connection', socket => {
      connections += 1
      socket.destroy()
    })
    const ref = `ldap://127.0.0.1:${(server.address() as AddressInfo).port}/ou=elsewhere,${base}`
    await slapd.add(`ou=elsewhere,${base}`, { objectClass: ['referral', 'extensibleObject'], ou: 'elsewhere', ref })
    await addPerson(slapd, base, 'jane')
    const source = await openLdap(t, slapd, { base })
    const jane = await source.find('jane')
    t.equal(jane?.username, 'jane', 'beside a referral')
    t.equal(await source.verify(jane, PERSON_PASSWORD), true)
    t.equal(await source.find('john'), null)
    const below = await openLdap(t, slapd, { base: `ou=elsewhere,${base}` })
    t.equal(await reasonOf(below.find('jane')), 'UNAVAILABLE')
    t.equal(connections, 0)
  })

  await policies(t, slapd, test)
  await groups(t, slapd, test)
  await versions(t, slapd, test)
})

type BaseTest = (statement: string, body: (t: Test, base: string) => Promise<void>) => Promise<unknown>

async function policies(_: Test, slapd: Slapd, test: BaseTest): Promise<void> {
  await test('a password that the directory wants changed is known as such only when it is right', async (t, base) => {
    const expired = await addPerson(slapd, base, 'expired')
    const reset = await addPerson(slapd, base, 'reset')
    await slapd.modify(expired, { pwdChangedTime: '20200101000000Z' })
    await slapd.modify(reset, { pwdReset: 'TRUE' })
    const source = await openLdap(t, slapd, { base })
    for (const name of ['expired', 'reset']) {
      const account = (await source.find(name))!
      t.equal(await source.verify(account, 'wrong'), false, name)
      t.equal(account.passwordExpired, undefined, name)
      t.equal(await source.verify(account, PERSON_PASSWORD), true, name)
      t.equal(account.passwordExpired, true, name)
    }
  })

  await test('an account that wrong passwords have locked is refused, with the reason for the log', async (t, base) => {
    await addPerson(slapd, base, 'jane')
    const source = await openLdap(t, slapd, { base })
    const jane = await source.find('jane')
    for (let i = 0; i < 4; i++) t.equal(await source.verify(jane, 'wrong'), false)
    const login: SourceLogin = { spent: 0 }
    t.equal(await source.verify(jane, PERSON_PASSWORD, login), false)
    t.equal(login.obstacle, 'locked')
    t.equal((await source.find('jane'))?.status, 'ACTIVE', 'it ends by itself, and ends no session')
  })

  await test('an account is as active as the attributes of its kind of directory say', async (t, base) => {
    const now = new Date()
    const at = (days: number): string =>
      `${new Date(now.getTime() + days * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')}000000Z`
    const states: Record<string, [attributes: Record<string, string>, status: Account['status']]> = {
      plain: [{}, 'ACTIVE'],
      disabled: [{ nsAccountLock: 'true' }, 'INACTIVE'],
      enabled: [{ nsAccountLock: 'FALSE' }, 'ACTIVE'],
      'locked-for-good': [{ pwdAccountLockedTime: '000001010000Z' }, 'LOCKED'],
      'locked-for-now': [{ pwdAccountLockedTime: at(0) }, 'ACTIVE'],
      ended: [{ pwdEndTime: at(-1) }, 'INACTIVE'],
      ends: [{ pwdEndTime: at(2) }, 'ACTIVE'],
      begins: [{ pwdStartTime: at(2) }, 'INACTIVE'],
    }
    const source = await openLdap(t, slapd, { base })
    for (const [name, [attributes, status]] of Object.entries(states)) {
      const dn = await addPerson(slapd, base, name)
      if (Object.keys(attributes).length > 0) await slapd.modify(dn, attributes)
      t.equal((await source.find(name))?.status, status, name)
    }
  })
}

async function groups(_: Test, slapd: Slapd, test: BaseTest): Promise<void> {
  await test('a group gives its role by its whole name, however that is written', async (t, base) => {
    const jane = await addPerson(slapd, base, 'jane')
    const other = await unitOf(slapd, `${base.split(',')[0]!.slice(3)}-other`)
    const ops = await addGroup(slapd, base, 'Ops', jane)
    const same = await addGroup(slapd, other, 'Ops', await addPerson(slapd, other, 'john'))
    const roles = {
      [` CN = \\4fps , ${base.replace('ou=', 'OU=').slice(0, -SUFFIX.length)} DC=Example,dc=COM`]: 'operator',
    }
    for (const kind of ['search', 'member-of']) {
      const own = await openLdap(t, slapd, { base, roles, groups: { kind } })
      const found = await own.find('jane')
      t.same([found?.extra.roles, found?.groups], [['operator'], [ops]], kind)
      const others = await openLdap(t, slapd, { base: other, roles, groups: { kind } })
      const john = await others.find('john')
      t.same([john?.extra.roles, john?.groups], [[], [same]], `${kind}: the same CN elsewhere`)
    }
  })

  await test('groups of groups count through as many levels as the settings say, and circles end', async (t, base) => {
    const jane = await addPerson(slapd, base, 'jane')
    const first = await addGroup(slapd, base, 'first', jane)
    const second = await addGroup(slapd, base, 'second', first)
    const third = await addGroup(slapd, base, 'third', second)
    await slapd.modify(first, { member: [jane, third] })
    const roles = { [first]: 'one', [second]: 'two', [third]: 'three' }
    for (const kind of ['search', 'member-of'])
      for (const [nested, expected] of [
        ['off', ['one']],
        [1, ['one', 'two']],
        [2, ['one', 'two', 'three']],
        [20, ['one', 'two', 'three']],
      ] as const) {
        const source = await openLdap(t, slapd, { base, roles, groups: { kind, nested } })
        t.same((await source.find('jane'))?.extra.roles, expected, `${kind} ${nested}`)
      }
  })

  await test('an account in more groups than the directory lists at once has the roles of all', async (t, base) => {
    const jane = await addPerson(slapd, base, 'jane')
    const names = await Promise.all(
      Array.from({ length: 1100 }, (_, index) => addGroup(slapd, base, `group-${index}`, jane)),
    )
    const roles = Object.fromEntries(names.map((name, index) => [name, `role-${index % 7}-${index > 1000}`]))
    for (const kind of ['search', 'member-of']) {
      const found = await (await openLdap(t, slapd, { base, roles, groups: { kind } })).find('jane')
      t.equal(found?.groups?.length, 1100, kind)
      t.equal((found?.extra.roles as string[]).length, 14, kind)
    }
  })

  await test('a login reads groups only after the right password', async (t, base) => {
    const ops = await addGroup(slapd, base, 'ops', await addPerson(slapd, base, 'jane'))
    const source = await openLdap(t, slapd, { base, roles: { [ops]: 'operator' } })
    const login: SourceLogin = { spent: 0 }
    const lines = slapd.follow()
    const jane = (await source.find('jane', login))!
    t.equal((await lines(/SRCH base=/)).length, 1)
    t.equal(await source.verify(jane, 'wrong', login), false)
    t.equal((await lines(/SRCH base=/)).length, 1)
    t.same([jane.extra.roles, jane.version], [undefined, undefined])
    t.equal(await source.verify(jane, PERSON_PASSWORD, login), true)
    t.same(jane.extra.roles, ['operator'])
    t.equal(jane.version, (await source.find('jane'))?.version)
    t.ok(login.spent > 0)
  })
}

async function versions(_: Test, slapd: Slapd, test: BaseTest): Promise<void> {
  await test('the version of an account changes with the time of its password and with its roles', async (t, base) => {
    const jane = await addPerson(slapd, base, 'jane')
    const ops = await addGroup(slapd, base, 'ops', await addPerson(slapd, base, 'john'))
    const source = await openLdap(t, slapd, { base, roles: { [ops]: 'operator' } })
    const versionNow = async () => (await source.find('jane'))!.version!
    const before = await versionNow()
    await slapd.modify(jane, { displayName: 'Jane' })
    t.equal(await versionNow(), before)
    await slapd.modify(jane, { pwdAccountLockedTime: '20240101000000Z' })
    t.equal(await versionNow(), before, 'a lockout')
    await slapd.modify(ops, { member: [jane] })
    const [password, rights] = (await versionNow()).split('.')
    t.equal(password, before.split('.')[0])
    t.not(rights, before.split('.')[1])
    await slapd.modify(jane, { pwdChangedTime: '20240102000000Z' })
    t.not((await versionNow()).split('.')[0], password)
    t.equal((await source.find('jane'))?.passwordChangedAt, Date.UTC(2024, 0, 2))
  })

  await test('a name that is removed and added again is another user', async (t, base) => {
    const dn = await addPerson(slapd, base, 'jane')
    const source = await openLdap(t, slapd, { base })
    const before = (await source.find('jane'))!
    t.same(await source.findRights(before.id), { roles: [], permissions: [] })
    await slapd.remove(dn)
    t.equal(await source.find('jane'), null)
    await addPerson(slapd, base, 'jane')
    t.not((await source.find('jane'))?.id, before.id)
    t.equal(await source.findRights(before.id), null)
  })

  await test('an entry that identifies no account clearly is a fault of the directory', async (t, base) => {
    await addPerson(slapd, base, 'several', { mail: ['a@example.com', 'b@example.com'] })
    await addPerson(slapd, base, 'without')
    await addPerson(slapd, base, 'spaces', { employeeNumber: 'a b' })
    const byMail = await openLdap(t, slapd, { base, id: 'mail' })
    for (const name of ['several', 'without']) t.equal(await reasonOf(byMail.find(name)), 'UNAVAILABLE', name)
    const byNumber = await openLdap(t, slapd, { base, id: 'employeeNumber' })
    t.equal(await reasonOf(byNumber.find('spaces')), 'UNAVAILABLE')
  })
}
