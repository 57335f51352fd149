import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import t from 'tap'
import { parseDocument } from 'yaml'
import { generateAccountId, removeAccount, setPassword } from '../../src/account/file/source.ts'
import { createLog } from '../../src/base/log/log.ts'
import { createGateway, type Gateway } from '../../src/gateway/gateway.ts'
import { type Call, call } from '../support/client.ts'
import { ADMIN, type Fixture, openFixture, sm2KeyPath, someone, withEveryStore } from '../support/gateway-fixture.ts'
import { makeOwnKey } from '../support/keys.ts'
import { encrypt, loginWork } from '../support/login-work.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'

/* Told as operators and users would see it: a change of the accounts file ends sessions, and nothing else does. */

const PASSWORD = 'correct horse 2'
const HASH = bcrypt.hashSync(PASSWORD, 4)
const CONSUMERS = { login: { consumer: { kind: 'file', path: 'consumers.yaml' } } }
/** A token of a side opens this path; nothing is there on purpose. */
const PATHS = { b: '/api/v1/b/x', c: '/api/v1/c/x' }
type Section = keyof typeof PATHS

const fileOf = (fixture: Fixture, section: Section = 'b'): string =>
  join(fixture.folder, section === 'b' ? 'accounts.yaml' : 'consumers.yaml')

/** A token by the whole login of a side; at another gateway of the same store if its address is given. */
async function signIn(fixture: Fixture, name: string, password = PASSWORD, section: Section = 'b', url = fixture.url) {
  const { id, answer } = await fixture.captcha(section)
  const keyPath = sm2KeyPath(fixture.profile).replace('/public/b/', `/public/${section}/`)
  const publicKey = (await call(url, { path: keyPath })).json().data
  const body = {
    captcha_id: id,
    captcha_value: answer,
    username: name,
    password: encrypt(password, publicKey),
  }
  const login: Call = { method: 'POST', path: `/api/v1/public/${section}/login`, body }
  const { data, success, message } = (await call(url, login)).json()
  if (success !== true) throw new Error(`login of ${name} failed: ${message}`)
  return data.token as string
}

const lives = async (fixture: Fixture, token: string, section: Section = 'b'): Promise<boolean> =>
  (await fixture.get(PATHS[section], token)).text.includes('"code":401') === false

const ends = (fixture: Fixture, token: string, section: Section = 'b'): Promise<boolean> =>
  until(async () => !(await lives(fixture, token, section)))

/** Events of the log about sessions that ended because of an account. */
const reasonsOf = (log: readonly string[], loginId: string): [reason: string, ended: number][] =>
  log
    .map(line => JSON.parse(line))
    .filter(line => line.msg === 'event' && line.event === 'kickout' && line.login_id === loginId)
    .map(line => [line.reason, line.ended])

/** Changes an account as an editor does that writes the file in place. */
function edit(path: string, username: string, key: string, value: unknown): void {
  const document = parseDocument(readFileSync(path, 'utf8'))
  const { accounts } = document.toJS() as { accounts: { username: string }[] }
  const index = accounts.findIndex(account => account.username === username)
  document.setIn(['accounts', index, key], value)
  writeFileSync(path, `# edited by hand\n${document}`)
}

/** Adds an account as an editor does, with a cheap hash. Answers its login id. */
function add(path: string, username: string, rest: object = {}): string {
  const document = parseDocument(existsSync(path) ? readFileSync(path, 'utf8') : 'accounts: []\n')
  const id = generateAccountId()
  document.addIn(['accounts'], document.createNode({ id, username, password: HASH, ...rest }))
  writeFileSync(path, String(document))
  return id
}

/** Waits until the gateway has read the present state of the file: an account that comes after it can sign in. */
async function hasRead(fixture: Fixture, section: Section = 'b'): Promise<void> {
  const name = someone()
  add(fileOf(fixture, section), name)
  await signIn(fixture, name, PASSWORD, section)
}

withEveryStore(
  t,
  async (t, fixture) => {
    for (const section of ['b', 'c'] as const) {
      t.test(`the sessions of a removed account end, and those of others live: side ${section}`, async t => {
        const id = add(fileOf(fixture, section), 'removed')
        add(fileOf(fixture, section), 'stays')
        const tokens = [
          await signIn(fixture, 'removed', PASSWORD, section),
          await signIn(fixture, 'removed', PASSWORD, section),
        ]
        const other = await signIn(fixture, 'stays', PASSWORD, section)
        t.ok(await lives(fixture, tokens[0]!, section))
        await removeAccount(fileOf(fixture, section), 'removed')
        for (const token of tokens) t.ok(await ends(fixture, token, section))
        t.ok(await lives(fixture, other, section))
        t.ok(await until(() => reasonsOf(fixture.log, id).length > 0))
        t.same(reasonsOf(fixture.log, id), [['account-changed', 2]])
      })
    }

    t.test('a password set by the command line ends the other sessions; a login with it lives', async t => {
      const id = add(fileOf(fixture), 'forgetful')
      const before = await signIn(fixture, 'forgetful')
      await setPassword(fileOf(fixture), 'forgetful', 'battery staple')
      const after = await signIn(fixture, 'forgetful', 'battery staple')
      t.ok(await ends(fixture, before))
      await hasRead(fixture)
      t.ok(await lives(fixture, after))
      t.ok(await until(() => reasonsOf(fixture.log, id).length > 0))
      t.same(reasonsOf(fixture.log, id), [['password-changed', 1]])
    })

    t.test('what takes or gives rights ends the sessions of an account, and nothing else does', async t => {
      const changes: [what: string, key: string, value: unknown, isEnd: boolean][] = [
        ['the status LOCKED', 'status', 'LOCKED', true],
        ['the status INACTIVE', 'status', 'INACTIVE', true],
        ['a role fewer', 'roles', ['operator'], true],
        ['a role more', 'roles', ['operator', 'auditor', 'SUPER_ADMIN'], true],
        ['another permission', 'permissions', ['a:c'], true],
        ['another nickname', 'nickname', 'Boss', false],
        ['another order of the roles', 'roles', ['auditor', 'operator'], false],
        ['a further field', 'team', { name: 'a' }, false],
      ]
      const nameOf = (what: string): string => what.replaceAll(' ', '-')
      const tokens = new Map<string, string>()
      for (const [what] of changes) {
        add(fileOf(fixture), nameOf(what), { roles: ['operator', 'auditor'], permissions: ['a:b'] })
      }
      for (const [what] of changes) tokens.set(what, await signIn(fixture, nameOf(what)))
      for (const [what, key, value] of changes) edit(fileOf(fixture), nameOf(what), key, value)
      for (const [what, , , isEnd] of changes) if (isEnd) t.ok(await ends(fixture, tokens.get(what)!), what)
      await hasRead(fixture)
      for (const [what, , , isEnd] of changes) t.equal(await lives(fixture, tokens.get(what)!), !isEnd, what)
    })

    t.test('a session that began through the operations ends with its account, too', async t => {
      const id = add(fileOf(fixture), 'machine')
      const { token } = (await fixture.operate('business', 'login', { user_id: id })).data
      await hasRead(fixture)
      t.ok(await lives(fixture, token))
      await removeAccount(fileOf(fixture), 'machine')
      t.ok(await ends(fixture, token))
    })
  },
  { config: CONSUMERS },
)

/** Another gateway on the store of a fixture, with its own accounts file if that is given. */
async function openAnother(fixture: Fixture, path = fileOf(fixture)) {
  const log: string[] = []
  const settings = { ...fixture.settings, accounts: { kind: 'file' as const, path } }
  const written = createLog('info', { write: line => void log.push(line) })
  const gateway = await createGateway(settings, { log: written, helpers: loginWork })
  const { public: url } = await gateway.listen()
  return {
    gateway,
    url,
    log,
    lives: async (token: string) => !(await call(url, { path: PATHS.b, token })).text.includes('"code":401'),
  }
}

for (const store of ['embedded', 'redis'] as const) {
  const skip = store === 'redis' && withoutRedis
  t.test(
    `a change that was made while no gateway ran ends the sessions and keys after the start: ${store} store`,
    { skip },
    async t => {
      const fixture = await openFixture(t, { store })
      const path = fileOf(fixture)
      const names = ['kept', 'renamed', 'removed', 'locked', 'changed'] as const
      const ids = new Map<string, string>()
      const tokens = new Map<string, string>()
      for (const username of names) {
        ids.set(username, add(path, username))
        tokens.set(username, await signIn(fixture, username))
        await makeOwnKey(fixture, tokens.get(username)!, {}, PASSWORD)
      }
      // A backend signed it in, as versions before did everybody: nothing tells what its account was then.
      const unknown = (await fixture.operate('business', 'login', { user_id: ids.get('removed') })).data.token
      await fixture.gateway.close()
      await removeAccount(path, 'removed')
      await setPassword(path, 'changed', 'battery staple')
      edit(path, 'locked', 'status', 'LOCKED')
      edit(path, 'renamed', 'nickname', 'Another')
      const later = await openAnother(fixture)
      t.teardown(() => later.gateway.close())
      for (const name of ['removed', 'locked', 'changed'])
        t.ok(await until(async () => !(await later.lives(tokens.get(name)!))), name)
      for (const name of ['kept', 'renamed']) t.ok(await later.lives(tokens.get(name)!), name)
      t.ok(await later.lives(unknown))
      const isReported = (name: string): boolean => reasonsOf(later.log, ids.get(name)!).length > 0
      await until(() => ['removed', 'locked', 'changed'].every(isReported))
      const reasons = names.map(name => [name, reasonsOf(later.log, ids.get(name)!)])
      t.same(reasons, [
        ['kept', []],
        ['renamed', []],
        ['removed', [['account-changed', 1]]],
        ['locked', [['account-changed', 1]]],
        ['changed', [['password-changed', 1]]],
      ])
      const keysOf = async (name: string) => (await fixture.store.credentials.of('BUSINESS', ids.get(name)!)).length
      for (const name of ['removed', 'changed']) t.ok(await until(async () => (await keysOf(name)) === 0), name)
      for (const name of ['kept', 'renamed', 'locked']) t.equal(await keysOf(name), 1, name)
    },
  )
}

t.test('the accounts file', async t => {
  const fixture = await openFixture(t)
  const path = fileOf(fixture)
  /** What `/readyz` says of the accounts; the fixture has other warnings, too. */
  const warnings = async (): Promise<string[]> => {
    const { status, warnings } = (await call(fixture.internal, { path: '/readyz' })).json()
    if (status !== 'ok') throw new Error(status)
    return warnings.filter((warning: string) => warning.includes('the accounts file'))
  }
  const isFaulty = async () =>
    /^dualgate_accounts_faulty\{side="BUSINESS"\} 1$/m.test((await call(fixture.internal, { path: '/metrics' })).text)

  for (const [what, damage] of [
    ['a faulty file', (): void => writeFileSync(path, 'accounts:\n  - { id: 1 }\n')],
    ['a file without its list', (): void => writeFileSync(path, '')],
    ['a removed file', (): void => rmSync(path)],
  ] as const) {
    t.test(`${what} ends no session, and is reported until it is corrected`, async t => {
      const token = await signIn(fixture, ADMIN.username, ADMIN.password)
      const whole = readFileSync(path, 'utf8')
      t.same(await warnings(), [])
      damage()
      t.ok(await until(async () => (await warnings()).length === 1))
      t.match(await warnings(), [/^the accounts file (has faults|was removed); /])
      t.ok(await isFaulty())
      t.ok(await lives(fixture, token))
      writeFileSync(path, whole)
      t.ok(await until(async () => (await warnings()).length === 0))
      t.notOk(await isFaulty())
      t.ok(await lives(fixture, token))
    })
  }
})

t.test('two gateways of one Redis with different files', { skip: withoutRedis }, async t => {
  const fixture = await openFixture(t, { store: 'redis' })
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-other-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const theirs = join(folder, 'accounts.yaml')
  const ours = fileOf(fixture)
  add(ours, 'jane')
  add(ours, 'john')
  writeFileSync(theirs, readFileSync(ours, 'utf8'))
  const other = await openAnother(fixture, theirs)
  const gateways: Gateway[] = [other.gateway]
  t.teardown(() => Promise.all(gateways.map(gateway => gateway.close())))

  await t.test('a change at one ends the sessions at both, once', async t => {
    const [here, there] = [await signIn(fixture, 'jane'), await signIn(fixture, 'jane', PASSWORD, 'b', other.url)]
    const bystander = await signIn(fixture, 'john')
    await setPassword(ours, 'jane', 'battery staple')
    t.ok(await until(async () => !(await other.lives(here)) && !(await other.lives(there))))
    const after = await signIn(fixture, 'jane', 'battery staple')
    // The file of the other one follows: what began after the change lives on at both.
    writeFileSync(theirs, readFileSync(ours, 'utf8'))
    t.ok(await until(() => other.log.some(line => line.includes('the accounts were read again'))))
    await signIn(fixture, 'jane', 'battery staple', 'b', other.url)
    for (const token of [after, bystander]) t.ok((await lives(fixture, token)) && (await other.lives(token)))
  })

  await t.test('a gateway with an older file ends nothing as long as its file does not change', async t => {
    const before = await signIn(fixture, 'john')
    await setPassword(ours, 'john', 'battery staple')
    // What begins later at the other gateway is not among the sessions that this one finds.
    t.ok(await ends(fixture, before))
    const token = await signIn(fixture, 'john', 'battery staple')
    const old = await signIn(fixture, 'john', PASSWORD, 'b', other.url)
    edit(theirs, 'jane', 'nickname', 'Jane')
    add(theirs, 'new')
    await signIn(fixture, 'new', PASSWORD, 'b', other.url)
    t.ok(await other.lives(token))
    t.ok(await other.lives(old))
    // Its file becomes the newer one: the session of the older password ends.
    writeFileSync(theirs, readFileSync(ours, 'utf8'))
    t.ok(await until(async () => !(await other.lives(old))))
    t.ok(await other.lives(token))
  })
})
