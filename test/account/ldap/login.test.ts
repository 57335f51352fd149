import t, { type Test } from 'tap'
import { call } from '../../support/client.ts'
import { type Fixture, openFixture } from '../../support/gateway-fixture.ts'
import {
  addGroup,
  addPerson,
  ldapConfig,
  PERSON_PASSWORD,
  SERVICE,
  type Slapd,
  startSlapd,
  unitOf,
  withoutSlapd,
} from '../../support/slapd.ts'
import { until } from '../../support/until.ts'

/* Users of a directory at the real endpoints, with captcha and SM2. */

const MINUTE = 60_000

t.test('users of a directory', { skip: withoutSlapd }, async t => {
  const slapd = await startSlapd(t)
  let units = 0
  const test = (statement: string, body: (t: Test, base: string) => Promise<void>) =>
    t.test(statement, async t => body(t, await unitOf(slapd, `unit-${units++}`)))
  const open = (t: Test, rest: Record<string, unknown>, config: Record<string, unknown> = {}) =>
    openFixture(t, { config: { accounts: ldapConfig(slapd, rest), ...config } })

  await test('sign in with captcha and encrypted password, and have the roles of their groups', async (t, base) => {
    const jane = await addPerson(slapd, base, 'Jane', { cn: 'Jane Doe', mail: 'jane@example.com' })
    const ops = await addGroup(slapd, base, 'ops', jane)
    const { entryUUID } = await slapd.read(jane, ['entryUUID'])
    const fixture = await open(t, { base, roles: { [ops]: 'operator' }, attributes: { email: 'mail' } })
    const token = await fixture.signIn('JANE', PERSON_PASSWORD)
    const found = await fixture.store.sessions.find('BUSINESS', token)
    t.match(found, {
      user_id: entryUUID,
      extra: { username: 'Jane', nickname: 'Jane Doe', roles: ['operator'], email: 'jane@example.com' },
    })
    t.notMatch(JSON.stringify(found), 'dc=example')
    t.equal((await fixture.get('/api/v1/orders', token)).status, 200)
    t.match((await fixture.get('/api/v1/b/account', token)).json().data, {
      username: 'Jane',
      second_factor: false,
      password_changed_at: /^\d{4}-/,
      can: ['second-factor'],
    })
  })

  await test('get one answer for a wrong password and an unknown name, and are locked by the name of the entry', async (t, base) => {
    const dn = await addPerson(slapd, base, 'jane', { mail: 'jd@example.com' })
    const user = '(|(uid={username})(mail={username}))'
    const fixture = await open(t, { base, user }, { login: { lockout: { failures: 3 } } })
    const attempt = answerTo(fixture)
    const wrong = await attempt('jane', 'wrong')
    t.match(wrong, { code: 400, message: 'Wrong username or password' })
    t.same(await attempt('john', PERSON_PASSWORD), wrong)
    for (const spelling of ['JANE', 'jd@example.com']) t.same(await attempt(spelling, 'wrong'), wrong, spelling)
    const lines = slapd.follow()
    t.match(await attempt('Jane', PERSON_PASSWORD), { code: 403 }, 'disabled')
    t.same(await lines(new RegExp(` BIND dn="${dn}"`)), [], 'and no password reaches the directory')
  })

  await test('sign in with no empty password', async (t, base) => {
    await addPerson(slapd, base, 'jane')
    const fixture = await open(t, { base })
    const lines = slapd.follow()
    t.match(await answerTo(fixture)('jane', '\0'), { code: 400, message: 'Wrong username or password' })
    t.same(await lines(/ BIND dn="(?:uid=jane|cn=[0-9a-f]{16},)/), [])
  })

  await test('who must change their password there learn it after the right one, and sign in no more', async (t, base) => {
    const dn = await addPerson(slapd, base, 'jane')
    await slapd.modify(dn, { pwdReset: 'TRUE' })
    const fixture = await open(t, { base })
    t.match(await answerTo(fixture)('jane', 'wrong'), { code: 400, message: 'Wrong username or password' })
    const expired = await answerTo(fixture)('jane', PERSON_PASSWORD)
    t.match(expired, {
      code: 400,
      message: 'The password has expired; change it in your company directory',
      data: null,
    })
    await slapd.modify(dn, { pwdReset: 'FALSE' })
    t.ok(await fixture.signIn('jane', PERSON_PASSWORD))
  })

  await test('whom the directory has locked get the answer of a wrong password, and log and journal say why', async (t, base) => {
    await addPerson(slapd, base, 'jane')
    const fixture = await open(t, { base }, { login: { lockout: { failures: 10 } } })
    for (let i = 0; i < 4; i++) await answerTo(fixture)('jane', 'wrong')
    t.match(await answerTo(fixture)('jane', PERSON_PASSWORD), { code: 400, message: 'Wrong username or password' })
    const logged = fixture.log.map(line => JSON.parse(line))
    t.equal(logged.filter(({ because }) => because === 'wrong password').length, 4)
    t.match(
      logged.find(({ because }) => because === 'locked-in-directory'),
      {
        msg: 'login',
        granted: false,
        reason: 'WRONG_CREDENTIALS',
      },
    )
    const event = logged.filter(({ msg, event }) => msg === 'event' && event === 'login-failed').at(-1)
    t.match(event, { reason: 'locked-in-directory', username: 'jane' })
  })

  await test('get 503 while the directory is away, known or not, and their sessions live on', async (t, base) => {
    await addPerson(slapd, base, 'jane')
    const fixture = await open(t, { base })
    const token = await fixture.signIn('jane', PERSON_PASSWORD)
    await slapd.kill()
    for (const [name, password] of [
      ['jane', PERSON_PASSWORD],
      ['jane', 'wrong'],
      ['john', 'wrong'],
    ] as const)
      t.match(await answerTo(fixture)(name, password), { code: 503, success: false, data: null }, name)
    t.equal((await fixture.get('/api/v1/orders', token)).status, 200)
    const log = fixture.log.join('\n')
    t.match(log, 'the directory of the accounts')
    t.notMatch(log, SERVICE.password)
    await slapd.restart()
    t.ok(await fixture.signIn('jane', PERSON_PASSWORD))
  })

  await test('have the rights of their groups now, where rights come from accounts', async (t, base) => {
    const jane = await addPerson(slapd, base, 'jane')
    const admins = await addGroup(slapd, base, 'admins', jane)
    const permissions = { path: 'permissions.yaml', source: 'accounts', remember: '1ms' }
    const fixture = await open(t, { base, roles: { [admins]: 'SUPER_ADMIN' }, recheck: 'off' }, { permissions })
    const token = await fixture.signIn('jane', PERSON_PASSWORD)
    const list = async () => (await fixture.get('/api/v1/sys/session/page', token)).json().code
    t.equal(await list(), 200)
    await slapd.modify(admins, { member: [await addPerson(slapd, base, 'john')] })
    await fixture.elapse(MINUTE)
    t.equal(await list(), 403)
  })

  await sessionsEnd(t, slapd, test)
})

type BaseTest = (statement: string, body: (t: Test, base: string) => Promise<void>) => Promise<unknown>

async function sessionsEnd(_: Test, slapd: Slapd, test: BaseTest): Promise<void> {
  await test('lose their sessions when their entry says so, and in no other case', async (t, base) => {
    const names = ['kept', 'removed', 'recreated', 'disabled', 'expired', 'changed', 'demoted', 'promoted', 'locked']
    const dns = new Map<string, string>()
    for (const name of names) dns.set(name, await addPerson(slapd, base, name))
    const dn = (name: string): string => dns.get(name)!
    const ops = await addGroup(slapd, base, 'ops', [dn('kept'), dn('demoted')])
    const fixture = await openFixture(t, {
      config: { accounts: ldapConfig(slapd, { base, roles: { [ops]: 'operator' }, recheck: '60s' }) },
    })
    const tokens = new Map<string, string>()
    const ids = new Map<string, string>()
    for (const name of names) {
      const token = await fixture.signIn(name, PERSON_PASSWORD)
      tokens.set(name, token)
      ids.set((await fixture.store.sessions.find('BUSINESS', token))!.user_id, name)
    }
    const isLive = async (name: string) =>
      !(await fixture.get('/api/v1/b/x', tokens.get(name))).text.includes('"code":401')
    const rechecked = async (result: string) => {
      const { text } = await call(fixture.internal, { path: '/metrics' })
      const found = new RegExp(`^dualgate_account_rechecks_total\\{side="BUSINESS",result="${result}"\\} (\\d+)`, 'm')
      return Number(found.exec(text)?.[1] ?? 0)
    }

    await slapd.remove(dn('removed'))
    await slapd.remove(dn('recreated'))
    await addPerson(slapd, base, 'recreated')
    await slapd.modify(dn('disabled'), { nsAccountLock: 'TRUE' })
    await slapd.modify(dn('expired'), { pwdEndTime: '20200101000000Z' })
    await slapd.modify(dn('changed'), { pwdChangedTime: '20240101000000Z' })
    await slapd.modify(ops, { member: [dn('kept'), dn('promoted')] })
    await slapd.modify(dn('locked'), { pwdAccountLockedTime: '20240101000000Z' })

    await slapd.kill()
    await fixture.elapse(2 * MINUTE)
    for (const name of names) t.ok(await isLive(name), `${name}: a directory that fails ends nothing`)
    await until(async () => (await rechecked('failed')) > 0)
    await slapd.restart()

    await fixture.elapse(2 * MINUTE)
    const ended = ['removed', 'recreated', 'disabled', 'expired', 'changed', 'demoted']
    for (const name of ended) t.ok(await until(async () => !(await isLive(name))), name)
    for (const name of ['kept', 'promoted', 'locked']) {
      const before = await rechecked('unchanged')
      await fixture.elapse(2 * MINUTE)
      t.ok(await until(async () => (await isLive(name)) && (await rechecked('unchanged')) > before), name)
      t.ok(await isLive(name), name)
    }
    const kickouts = () =>
      fixture.log.map(line => JSON.parse(line)).filter(({ msg, event }) => msg === 'event' && event === 'kickout')
    await until(() => kickouts().length >= ended.length)
    t.same(Object.fromEntries(kickouts().map(({ login_id, reason }) => [ids.get(login_id), reason])), {
      removed: 'account-changed',
      recreated: 'account-changed',
      disabled: 'account-changed',
      expired: 'account-changed',
      changed: 'password-changed',
      demoted: 'account-changed',
    })
  })
}

/** What the login answers, without the id of the request. */
const answerTo = (fixture: Fixture) => async (username: string, password: string) => {
  const answer = await fixture.post('/api/v1/public/b/login', await fixture.credentials(username, password))
  return { ...answer.json(), trace_id: '' }
}
