import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import bcrypt from 'bcrypt'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { codeAt, wrongCode } from '../second-factor/factor-fixture.ts'
import { ADMIN, type Fixture, type FixtureOptions, openFixture, withEveryStore } from '../support/gateway-fixture.ts'
import { encrypt } from '../support/login-work.ts'
import { until } from '../support/until.ts'

/* "Second factor" of the users themselves, as clients call it: below /api/v<n>/b/account/second-factor/. */

const BASE = '/api/v1/b/account/second-factor'
const RIGHT = ADMIN.password

/**
 * The bodies and answers of one user, at the time of the gateway. Factors are confirmed with the code of the present step, so that
 * the one of the next is not used.
 */
async function userOf(fixture: Fixture, token: string, { base = BASE, password = RIGHT } = {}) {
  const key = await publicKeyOf(fixture)
  const post = async (name: string, body: Record<string, unknown>) =>
    (await fixture.post(`${base}/${name}`, body, token)).json()
  const proof = (code?: string, text = password) => ({ current_password: encrypt(text, key), ...(code && { code }) })
  return {
    post,
    proof,
    setUp: (code?: string, text?: string) => post('setup', proof(code, text)),
    async enrol() {
      const { secret } = (await post('setup', proof())).data
      const confirmed = await post('confirm', { code: codeAt(secret, fixture.now()) })
      return { secret, recoveryCodes: confirmed.data.recovery_codes as string[] }
    },
  }
}

const publicKeyOf = async (fixture: Fixture): Promise<string> =>
  (await fixture.get(`/api/v1/public/b/${fixture.profile === 1 ? 'sm2/' : 'sm2-'}public-key`)).json().data

const accountsText = ({ folder }: Fixture): string => readFileSync(join(folder, 'accounts.yaml'), 'utf8')

const isLive = async (fixture: Fixture, token: string): Promise<boolean> =>
  (await fixture.get('/api/v1/b/x', token)).headers['x-case'] !== undefined ||
  (await fixture.operate('business', 'is-login', { token })).data.is_login

const eventsOf = ({ log }: Fixture) =>
  log.map(line => JSON.parse(line)).filter(({ msg, event }) => msg === 'event' && /factor|failed/.test(event))

withEveryStore(t, async (t, fixture) => {
  const [own, other] = [await fixture.signIn(), await fixture.signIn()]
  const user = await userOf(fixture, own)
  let enrolled: Awaited<ReturnType<typeof user.enrol>>

  await t.test(
    'setting a factor up needs the present password, and changes nothing before a code proves it',
    async t => {
      t.match(await user.setUp(undefined, 'a wrong one'), { code: 400, message: /Wrong username or password/ })
      const before = accountsText(fixture)
      const { code, data } = await user.setUp()
      t.equal(code, 200)
      t.match(data, {
        secret: /^[A-Z2-7]{32}$/,
        uri: /^otpauth:\/\/totp\/dualgate:admin\?/,
        qr: /^data:image\/png;base64,/,
      })
      t.match(await user.post('confirm', { code: wrongCode(data.secret, fixture.now()) }), {
        code: 400,
        message: 'Wrong code',
      })
      const stranger = await userOf(fixture, other)
      t.match(await stranger.post('confirm', { code: codeAt(data.secret, fixture.now()) }), {
        code: 400,
        message: /expired/,
      })
      t.equal(accountsText(fixture), before)
    },
  )

  await t.test('a confirmed factor ends no session, and its codes are shown once', async t => {
    enrolled = await user.enrol()
    t.equal(enrolled.recoveryCodes.length, 10)
    const known = { second_factor: true, recovery_codes_left: 10, can: ['password', 'second-factor'] }
    t.match((await fixture.get('/api/v1/b/account', own)).json().data, known)
    t.match(accountsText(fixture), /second_factor: /)
    t.ok(await isLive(fixture, own))
    t.ok(await isLive(fixture, other))
    t.match(await user.post('confirm', { code: codeAt(enrolled.secret, fixture.now(), 1) }), {
      code: 400,
      message: /expired/,
    })
  })

  await t.test('new recovery codes need password and code, and make the older ones void', async t => {
    const { secret, recoveryCodes } = enrolled
    t.match(await user.post('recovery-codes', user.proof(undefined)), { code: 400, message: /code/ })
    const renewed = await user.post('recovery-codes', user.proof(codeAt(secret, fixture.now(), 1)))
    t.equal(renewed.data.recovery_codes.length, 10)
    t.match(await user.post('remove', user.proof(recoveryCodes[0])), { code: 400, message: 'Wrong code' })
    enrolled = { secret, recoveryCodes: renewed.data.recovery_codes }
    t.ok(await isLive(fixture, other))
  })

  await t.test('another factor replaces the first only with a code of it, and ends the other sessions', async t => {
    t.match(await user.setUp(), { code: 400, message: /^code: / })
    t.match(await user.setUp('000000 0'), { code: 400, message: 'Wrong code' })
    const { data } = await user.setUp(enrolled.recoveryCodes[0])
    const confirmed = await user.post('confirm', { code: codeAt(data.secret, fixture.now()) })
    t.equal(confirmed.code, 200)
    t.ok(await isLive(fixture, own))
    t.notOk(await isLive(fixture, other))
    enrolled = { secret: data.secret, recoveryCodes: confirmed.data.recovery_codes }
  })

  await t.test('a factor is removed with password and code, which ends the other sessions', async t => {
    const third = await fixture.gateway.sides.business.login(undefined, '1')
    t.match(await user.post('remove', { ...user.proof(codeAt(enrolled.secret, fixture.now(), 1), 'wrong password') }), {
      code: 400,
      message: /Wrong username/,
    })
    t.match(await user.post('remove', user.proof(codeAt(enrolled.secret, fixture.now(), 1))), { code: 200, data: null })
    t.notMatch(accountsText(fixture), /second_factor/)
    t.ok(await isLive(fixture, own))
    t.notOk(await isLive(fixture, third))
    t.match(await user.post('remove', user.proof('123456')), { code: 400, message: 'No second factor is set up' })
    const { recoveryCodes } = await user.enrol()
    t.match(await user.post('remove', user.proof(recoveryCodes[0])), { code: 200, data: null })
  })

  await t.test('every change and every wrong code is an event, without a secret', async t => {
    const names = { login_id: '1', username: 'admin', by: '1', address: '127.0.0.1' }
    t.match(eventsOf(fixture), [
      { event: 'login-failed', reason: 'WRONG_CREDENTIALS', ...names },
      { event: 'second-factor-failed', reason: 'WRONG_CODE', ...names },
      { event: 'second-factor-on', ...names },
      { event: 'second-factor-on', reason: 'recovery-codes', ...names },
      { event: 'second-factor-failed', reason: 'WRONG_CODE', ...names },
      { event: 'second-factor-failed', reason: 'WRONG_CODE', ...names },
      { event: 'second-factor-on', reason: 'replaced', ...names },
      { event: 'login-failed', reason: 'WRONG_CREDENTIALS', ...names },
      { event: 'second-factor-off', reason: undefined, ...names },
      { event: 'second-factor-on', reason: undefined, ...names },
      { event: 'second-factor-off', reason: 'recovery-code', ...names },
    ])
    const { secret, recoveryCodes } = enrolled
    for (const told of [secret, ...recoveryCodes, 'data:image']) {
      t.notOk(
        fixture.log.some(line => line.includes(told)),
        'no secret is logged',
      )
    }
  })

  await t.test('five wrong codes lock the step, for removing too, and another session does not help', async t => {
    const { secret } = await user.enrol()
    const wrong = wrongCode(secret, fixture.now())
    for (let i = 0; i < 5; i++) t.match(await user.post('remove', user.proof(wrong)), { message: 'Wrong code' })
    const next = await userOf(
      fixture,
      await fixture.gateway.sides.business.login(undefined, '1', { username: 'admin' }),
    )
    t.match(await next.post('remove', next.proof(codeAt(secret, fixture.now(), 1))), {
      code: 403,
      data: { disable_time: /^\d+$/ },
    })
    t.notOk(
      (await fixture.operate('business', 'is-disable', { user_id: '1' })).data.is_disable,
      'the id is not disabled',
    )
  })

  await t.test('everything that the second factor, tickets and the journal leave in Redis has a lifetime', async t => {
    const demanded = await fixture.post('/api/v1/public/b/login', await fixture.credentials())
    t.match(demanded.json(), { data: { required: 'second-factor' } })
    await fixture.get('/api/v1/sys/journal/page', own)
    if (fixture.redis === null) return
    const { cli } = fixture.redis
    const keys = (await cli('KEYS', '*')).trim().split('\n')
    for (const part of [':journal', 'second-factor:', ':ticket'])
      t.ok(
        keys.some(key => key.includes(part)),
        part,
      )
    for (const key of keys) t.not(Number(await cli('TTL', key)), -1, key)
  })
})

/** A gateway whose accounts file is the test's. */
async function open(t: Test, options: FixtureOptions, entries: Record<string, unknown>[]): Promise<Fixture> {
  const path = join(t.testdir(), 'people.yaml')
  const password = bcrypt.hashSync(RIGHT, 4)
  writeFileSync(path, stringify({ accounts: entries.map(entry => ({ password, ...entry })) }))
  const fixture = await openFixture(t, { ...options, config: { accounts: { kind: 'file', path }, ...options.config } })
  return fixture
}

t.test('a required factor cannot be removed, but replaced', async t => {
  const config = { login: { second_factor: { for: ['operator'] } } }
  const fixture = await open(t, { config }, [{ id: '7', username: 'ann', roles: ['operator'] }])
  const token = await fixture.gateway.sides.business.login(undefined, '7', { username: 'ann' })
  const user = await userOf(fixture, token)
  const { secret, recoveryCodes } = await user.enrol()
  const code = codeAt(secret, fixture.now(), 1)
  t.match(await user.post('remove', user.proof(code)), { code: 403, message: 'A second factor is required' })
  const shown = (await fixture.get('/api/v1/b/account', token)).json().data
  t.match(shown, { second_factor: true, second_factor_required: true })
  const { data } = await user.setUp(recoveryCodes[9])
  t.equal((await user.post('confirm', { code: codeAt(data.secret, fixture.now()) })).code, 200)
})

t.test('the journal tells which logins used a recovery code, also if a new password was needed after it', async t => {
  const fixture = await openFixture(t)
  const user = await userOf(fixture, await fixture.signIn())
  const { secret, recoveryCodes } = await user.enrol()
  const key = await publicKeyOf(fixture)
  const begin = '/api/v1/public/b/login'
  const proven = async (code: string) => {
    const { ticket } = (await fixture.post(begin, await fixture.credentials('admin', RIGHT))).json().data
    return (await fixture.post(`${begin}/second-factor`, { ticket, code })).json()
  }
  t.equal((await proven(codeAt(secret, fixture.now(), 1))).code, 200)
  t.equal((await proven(recoveryCodes[0]!)).code, 200)
  const text = accountsText(fixture).replace(/^( +)username: "?admin"?$/m, '$&\n$1must_change_password: true')
  writeFileSync(join(fixture.folder, 'accounts.yaml'), text)
  const { required, ticket } = (await proven(recoveryCodes[1]!)).data
  t.equal(required, 'password')
  const change = { ticket, new_password: encrypt('a new password of mine', key) }
  const { token } = (await fixture.post(`${begin}/password`, change)).json().data
  const page = await fixture.get('/api/v1/sys/journal/page?event=login', token)
  t.match(
    page.json().data.records.map(({ reason }: { reason: string | null }) => reason),
    ['recovery-code', 'recovery-code', null, null],
  )
})

t.test('a set-up is good for ten minutes', async t => {
  const fixture = await openFixture(t)
  const user = await userOf(fixture, await fixture.signIn())
  const { secret } = (await user.setUp()).data
  await fixture.elapse(600_000)
  t.match(await user.post('confirm', { code: codeAt(secret, fixture.now(), 1) }), { code: 400, message: /expired/ })
})

t.test('the C side has the same with a login of its own, and neither side sees the other', async t => {
  const consumers = join(t.testdir(), 'consumers.yaml')
  const password = bcrypt.hashSync('another one 2', 4)
  writeFileSync(consumers, stringify({ accounts: [{ id: '1', username: 'admin', password }] }))
  const fixture = await openFixture(t, { config: { login: { consumer: { kind: 'file', path: consumers } } } })
  const token = await fixture.gateway.sides.consumer.login(undefined, '1', { username: 'admin' })
  const user = await userOf(fixture, token, { base: BASE.replace('/b/', '/c/'), password: 'another one 2' })
  await user.enrol()
  t.match(readFileSync(consumers, 'utf8'), /second_factor/)
  t.notMatch(accountsText(fixture), /second_factor/)
  const admin = await userOf(fixture, await fixture.signIn())
  t.match(await admin.post('remove', admin.proof('000000')), { message: 'No second factor is set up' })
})

t.test(
  'with off a login needs no code, users set up none, and the start warns of those that accounts have',
  async t => {
    const config = { login: { second_factor: { for: 'off' } } }
    const second_factor = 'abcdefghijkl.sealed'
    const fixture = await open(t, { config }, [{ id: '7', username: 'ann', second_factor }])
    const token = await fixture.signIn('ann')
    const answer = await fixture.post(`${BASE}/setup`, {}, token)
    t.ok(
      fixture.upstream.requests.some(({ url }) => url === `${BASE}/setup`),
      `${answer.status}: the path is not the gateway’s`,
    )
    t.match(
      fixture.log.map(line => JSON.parse(line)).filter(({ level, msg }) => level === 40 && /second_factor/.test(msg)),
      [
        {
          type: 'BUSINESS',
          accounts: 1,
          msg: 'login.second_factor.for is off: accounts with a second factor need their password alone',
        },
      ],
    )
  },
)

/** A gateway whose only account, that of ann, is in a backend, and the changes that the backend has stored. */
async function openWithBackend(t: Test) {
  const password = bcrypt.hashSync(RIGHT, 4)
  const account: Record<string, unknown> = { id: '7', username: 'ann', password, status: 'ACTIVE', second_factor: null }
  const changes: unknown[] = []
  const backend = createServer(async (request, response) => {
    const asked = JSON.parse(await text(request))
    const isChange = request.url === '/update'
    if (isChange) changes.push(asked)
    if (isChange) Object.assign(account, asked)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isChange ? {} : account))
  })
  backend.listen(0, '127.0.0.1')
  await once(backend, 'listening')
  t.teardown(() => backend.close())
  const url = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`
  const accounts = {
    kind: 'http',
    url: `${url}/find`,
    update_url: `${url}/update`,
    secret: 'a secret between two',
    timeout: '30s',
  }
  return { fixture: await openFixture(t, { config: { accounts } }), account, changes }
}

t.test('a set-up ends with the password that began it, and lets no session outlive that password', async t => {
  const { fixture, account, changes } = await openWithBackend(t)
  const token = await fixture.signIn('ann')
  const user = await userOf(fixture, token)
  const { secret } = (await user.setUp()).data
  account.password = bcrypt.hashSync('battery staple 7', 4)
  t.match(await user.post('confirm', { code: codeAt(secret, fixture.now()) }), { code: 400, message: /expired/ })
  t.same(changes, [])
  await fixture.elapse(60_000)
  await until(async () => !(await isLive(fixture, token)))
})

t.test('accounts of a backend have second factors where it stores them', async t => {
  const { fixture, account, changes } = await openWithBackend(t)
  const user = await userOf(fixture, await fixture.signIn('ann'))
  const { recoveryCodes } = await user.enrol()
  t.match(changes.splice(0), [{ id: '7', second_factor: /^[\w-]{12}\./ }])
  const signIn = async () =>
    (await fixture.post('/api/v1/public/b/login', await fixture.credentials('ann', RIGHT))).json().data
  const { required, ticket } = await signIn()
  t.equal(required, 'second-factor')
  const step = async (body: object) => (await fixture.post('/api/v1/public/b/login/second-factor', body)).json()
  t.match(await step({ ticket, code: recoveryCodes[0] }), { code: 200 })
  t.match(await step({ ticket: (await signIn()).ticket, code: recoveryCodes[0] }), { code: 400, message: 'Wrong code' })

  const own = await signIn()
  const { token } = (await step({ ticket: own.ticket, code: recoveryCodes[2] })).data
  const other = (await step({ ticket: (await signIn()).ticket, code: recoveryCodes[3] })).data.token
  changes.splice(0)
  const change = { ...user.proof(), new_password: user.proof(undefined, 'battery staple 7').current_password }
  const changed = (await fixture.post('/api/v1/b/account/password', change, token)).json()
  t.match(changed, { code: 200, data: { ended: 3 } })
  t.match(changes, [{ id: '7', password: /^\$2b\$/ }])
  t.ok(await isLive(fixture, token))
  t.notOk(await isLive(fixture, other), 'no source has to report the change')
  account.password = bcrypt.hashSync(RIGHT, 4)

  account.second_factor = `${String(account.second_factor).slice(0, -4)}AAAA`
  t.match(await step({ ticket: (await signIn()).ticket, code: recoveryCodes[1] }), {
    code: 403,
    message: /cannot be checked/,
  })
})
