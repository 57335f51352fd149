import { inspect } from 'node:util'
import bcrypt from 'bcrypt'
import type { Test } from 'tap'
import { matchesHash } from '../../src/account/hash.ts'
import { createHashAccounts, type HashSource } from '../../src/account/hash-accounts.ts'
import { createPasswords } from '../../src/account/password.ts'
import type { Accounts } from '../../src/account/source.ts'
import { Refusal } from '../../src/base/refusal.ts'
import { clockOf } from '../support/clock.ts'

/** An account as it stands in a source. `password` is a bcrypt hash; a service account has none. */
export interface StoredAccount {
  id: string
  username: string
  password: string | null
  service?: true
  status: 'ACTIVE' | 'INACTIVE' | 'LOCKED'
  nickname?: string
  roles?: string[]
  permissions?: string[]
}

export const PASSWORD = 'correct horse'
/** Cost 4, so that tests are quick. */
export const HASH = bcrypt.hashSync(PASSWORD, 4)
const OTHER_HASH = bcrypt.hashSync('battery staple', 4)

export const stored = (username: string, rest: Partial<StoredAccount> = {}): StoredAccount => ({
  id: `id-of-${Buffer.from(username).toString('hex').slice(0, 32)}`,
  username,
  password: HASH,
  status: 'ACTIVE',
  ...rest,
})

/** The reason of the refusal with which a lookup ends; throws for any other end. */
export async function reasonOf(question: Promise<unknown>): Promise<string> {
  try {
    return `answered ${JSON.stringify(await question)}`
  } catch (fault) {
    return fault instanceof Refusal ? fault.reason : String(fault)
  }
}

/** Names that SQL, YAML, JSON or a shell might take for something else. */
const AWKWARD_NAMES = [
  `' OR '1'='1`,
  `' OR 1=1 --`,
  `admin'--`,
  `"; DROP TABLE accounts; --`,
  `'; DELETE FROM accounts; --`,
  `\\' OR 1=1 #`,
  `') UNION SELECT 'admin','admin','x','ACTIVE' --`,
  ':username',
  '$1',
  '?',
  '%',
  '_',
  '{"username":"admin"}',
  '__proto__',
  'constructor',
  '$(id)',
  '../admin',
  'null',
  'true',
]

const UNICODE_NAMES = ['管理员', 'Łukasz Żółć', 'مدير', 'ädmin', '👩‍🚀 astronaut', '𝔞𝔡𝔪𝔦𝔫', 'ß', '한국어']

/**
 * The law of src/account/source.ts for every source alike. `open` answers a source that holds exactly these accounts;
 * it is closed when the test ends.
 */
export async function sourceContract(
  t: Test,
  name: string,
  open: (t: Test, accounts: StoredAccount[]) => Promise<Accounts>,
  /** A directory knows no service accounts: programs have entries like those of people. */
  { hasServices = true }: { hasServices?: boolean } = {},
): Promise<void> {
  const test = (statement: string, body: (t: Test) => Promise<void>) => t.test(`${name}: ${statement}`, body)

  await test('an account is found under its name, with all that it holds', async t => {
    const roles = ['operator', 'Prüfer']
    const admin = stored('admin', { id: '1', nickname: '管理员', roles, permissions: ['sys:session:*', 'a:b'] })
    const source = await open(t, [stored('other'), admin, stored('administrator')])
    const found = await source.find('admin')
    t.match(found, {
      id: '1',
      username: 'admin',
      status: 'ACTIVE',
      extra: { nickname: '管理员', roles, permissions: ['sys:session:*', 'a:b'] },
    })
  })

  await test('what is found holds neither a password nor a hash', async t => {
    const found = await (await open(t, [stored('admin')])).find('admin')
    t.notMatch(inspect(found, { depth: 9, showHidden: true }), /\$2b\$|correct horse/)
  })

  await test('an account has both versions, or none', async t => {
    const found = (await (await open(t, [stored('admin')])).find('admin'))!
    t.equal(typeof found.credentialVersion, typeof found.version)
  })

  await test('an account is verified by its own password, and by no other', async t => {
    const source = await open(t, [stored('admin'), stored('other', { password: OTHER_HASH })])
    const [admin, other] = [await source.find('admin'), await source.find('other')]
    t.equal(await source.verify(admin, PASSWORD), true)
    t.equal(await source.verify(other, 'battery staple'), true)
    for (const wrong of ['battery staple', 'Correct horse', `${PASSWORD} `, '*', HASH])
      t.equal(await source.verify(admin, wrong), false, wrong)
    t.equal(await source.verify(other, PASSWORD), false)
  })

  await test('an empty password, no password and no account are verified by nothing', async t => {
    const source = await open(t, [stored('admin'), stored('empty', { password: bcrypt.hashSync('', 4) })])
    for (const name of ['admin', 'empty']) {
      const account = await source.find(name)
      for (const none of ['', null]) t.equal(await source.verify(account, none), false, `${name} ${none}`)
    }
    for (const password of [PASSWORD, '', null]) t.equal(await source.verify(null, password), false)
  })

  if (hasServices)
    await test('a service account is found as such, and no password is verified for it', async t => {
      const source = await open(t, [stored('robot', { service: true, password: null, roles: ['a'] }), stored('person')])
      const [robot, person] = [await source.find('robot'), await source.find('person')]
      t.match(robot, { service: true, status: 'ACTIVE', extra: { roles: ['a'] } })
      t.notOk(Object.hasOwn(robot!.extra, 'service') || Object.hasOwn(person!.extra, 'service'))
      t.notOk(Object.hasOwn(person!, 'service'))
      for (const password of [PASSWORD, '', null]) t.equal(await source.verify(robot, password), false)
      t.same(await source.findRights(robot!.id), { roles: ['a'], permissions: [] })
    })

  await test('a locked account is verified as well: its status is reported after the right password only', async t => {
    const source = await open(t, [stored('admin', { status: 'LOCKED' })])
    t.equal(await source.verify(await source.find('admin'), PASSWORD), true)
  })

  await test('an unknown name is absent', async t => {
    const source = await open(t, [stored('admin')])
    for (const name of ['nobody', 'admi', 'adminx', 'a', '*']) t.equal(await source.find(name), null, name)
    t.equal(await (await open(t, [])).find('admin'), null)
  })

  await test('a name that looks like a statement is an unknown name, and does no harm', async t => {
    const source = await open(t, [stored('admin')])
    for (const name of AWKWARD_NAMES) t.equal(await source.find(name), null, name)
    t.equal((await source.find('admin'))?.username, 'admin')
  })

  await test('a name that looks like a statement can be the name of an account', async t => {
    const source = await open(
      t,
      AWKWARD_NAMES.map((name, index) => stored(name, { id: `awkward-${index}` })),
    )
    for (const [index, name] of AWKWARD_NAMES.entries()) {
      t.match(await source.find(name), { id: `awkward-${index}`, username: name })
    }
  })

  await test('names may have letters of any script', async t => {
    const source = await open(
      t,
      UNICODE_NAMES.map((name, index) => stored(name, { id: `unicode-${index}`, nickname: name })),
    )
    for (const [index, name] of UNICODE_NAMES.entries()) {
      t.match(await source.find(name), { id: `unicode-${index}`, username: name, extra: { nickname: name } })
    }
  })

  await test('an id arrives digit by digit', async t => {
    const ids = ['9007199254740993', '1923456789012345678', '9223372036854775807', '0017', 'user@example.com']
    const source = await open(
      t,
      ids.map((id, index) => stored(`user${index}`, { id })),
    )
    for (const [index, id] of ids.entries()) t.equal((await source.find(`user${index}`))?.id, id)
  })

  await test('each status is returned', async t => {
    const statuses = ['ACTIVE', 'INACTIVE', 'LOCKED'] as const
    const source = await open(
      t,
      statuses.map(status => stored(status.toLowerCase(), { status })),
    )
    for (const status of statuses) t.equal((await source.find(status.toLowerCase()))?.status, status)
  })

  await test('rights are found by login id, of active accounts only', async t => {
    const source = await open(t, [
      stored('admin', { id: '1', roles: ['operator'], permissions: ['a:b', 'c:d'] }),
      stored('plain', { id: '2' }),
      stored('locked', { id: '3', status: 'LOCKED', roles: ['operator'] }),
      stored('inactive', { id: '4', status: 'INACTIVE', roles: ['operator'] }),
    ])
    t.same(await source.findRights('1'), { roles: ['operator'], permissions: ['a:b', 'c:d'] })
    t.same(await source.findRights('2'), { roles: [], permissions: [] })
    for (const id of ['3', '4', '5', 'admin', '01', '1 ', "1' OR '1'='1", ':id'])
      t.equal(await source.findRights(id), null, id)
  })

  await test('many questions at once are each answered for themselves', async t => {
    const names = Array.from({ length: 40 }, (_, index) => `user${index}`)
    const source = await open(
      t,
      names.map(name => stored(name, { id: `id-of-${name}` })),
    )
    const found = await Promise.all([...names, 'nobody'].map(name => source.find(name)))
    t.same(
      found.map(account => account?.id),
      [...names.map(name => `id-of-${name}`), undefined],
    )
  })
}

/** The same law for a source of hashes, behind the piece that verifies all of them. */
export async function hashContract(
  t: Test,
  name: string,
  open: (t: Test, accounts: StoredAccount[]) => Promise<HashSource>,
): Promise<void> {
  await sourceContract(t, name, async (t, accounts) => verifiedByHash(await open(t, accounts)))

  await t.test(`${name}: a credential version stays with other rights, and changes with the password`, async t => {
    const versionWith = async (rest: Partial<StoredAccount>) => {
      const found = await verifiedByHash(await open(t, [stored('admin', rest)])).find('admin')
      t.type(found?.version, 'string')
      return found?.credentialVersion
    }
    const present = await versionWith({ roles: ['a'] })
    t.type(present, 'string')
    t.equal(await versionWith({ roles: ['b'], permissions: ['c:d'], status: 'LOCKED' }), present)
    t.not(await versionWith({ roles: ['a'], password: OTHER_HASH }), present)
  })

  await t.test(`${name}: a password fits every form of its bcrypt hash`, async t => {
    const forms = ['$2a$', '$2b$', '$2y$'].map(form => HASH.replace('$2b$', form))
    const accounts = verifiedByHash(
      await open(
        t,
        forms.map((password, index) => stored(`user${index}`, { password })),
      ),
    )
    for (const [index, hash] of forms.entries()) {
      const account = await accounts.find(`user${index}`)
      t.equal(await accounts.verify(account, PASSWORD), true, hash.slice(0, 4))
      t.equal(await accounts.verify(account, 'wrong'), false, hash.slice(0, 4))
    }
  })
}

const verifiedByHash = (source: HashSource): Accounts =>
  createHashAccounts(source, {
    type: 'BUSINESS',
    // Quick failures; the costs of others are for hash-accounts.test.ts.
    memory: { read: async () => ({ count: 4, resetsAt: Number.MAX_SAFE_INTEGER }), set: async () => undefined },
    passwords: createPasswords(async (password, hash, decoys) => matchesHash(password, hash, decoys)),
    clock: clockOf(() => 0),
    log: { error: () => undefined },
  })
