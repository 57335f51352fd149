import { join } from 'node:path'
import sm from 'sm-crypto'
import t from 'tap'
import { addAccount } from '../../src/account/file/source.ts'
import { ADMIN, openFixture, sm2KeyPath, withEveryStore } from '../support/gateway-fixture.ts'
import { isLeftOf } from '../support/time-left.ts'

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

withEveryStore(t, async (t, fixture) => {
  const login = (body: unknown) => fixture.post('/api/v1/public/b/login', body)

  t.test('GET captcha: a PNG for an <img>, an id, and never the answer', async t => {
    const answer = await fixture.get('/api/v1/public/b/captcha')
    t.equal(answer.status, 200)
    const { code, success, data } = answer.json()
    t.match({ code, success }, { code: 200, success: true })
    t.same(Object.keys(data).sort(), ['captcha_base64', 'captcha_code', 'captcha_id'])
    t.equal(data.captcha_code, null)
    t.match(data.captcha_id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    const [prefix, base64] = data.captcha_base64.split(',')
    t.equal(prefix, 'data:image/png;base64')
    t.same(Buffer.from(base64, 'base64').subarray(0, 8), PNG)
  })

  t.test('GET public key: 130 hex digits that begin with 04, at the path of the profile', async t => {
    const answer = await fixture.get(sm2KeyPath(fixture.profile))
    t.match(answer.json(), { code: 200, success: true, data: /^04[0-9a-f]{128}$/ })
    const older = await fixture.get('/api/v1/public/b/sm2/public-key')
    t.equal(older.json().data, answer.json().data, 'clients of profile 2 call the path of profile 1 too')
    if (fixture.profile === 1) {
      const other = (await fixture.get('/api/v1/public/b/sm2-public-key')).json()
      t.not(other.data, answer.json().data, 'profile 1 has no second path')
    }
  })

  t.test('POST login: the whole flow ends with one JWT, which the gate accepts', async t => {
    const answer = await login(await fixture.credentials())
    t.equal(answer.status, 200)
    t.match(answer.json(), {
      code: 200,
      success: true,
      data: { token: /^[\w-]+\.[\w-]+\.[\w-]+$/, token_name: 'Authorization', expires_in: 2592000 },
    })
    const { token } = answer.json().data
    t.equal(await fixture.gateway.sides.business.getLoginIdByToken(token), '1')
    t.equal((await fixture.get('/api/v1/sys/anything', token)).status, 200)
    t.equal(answer.headers['cache-control'], 'no-store')
  })

  t.test('the record of a login has the user and the address', async t => {
    const body = { ...(await fixture.credentials()), device_id: 'WEB_PC' }
    const answer = await fixture.call({
      method: 'POST',
      path: '/api/v1/public/b/login',
      body,
      headers: {
        'user-agent':
          'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36',
      },
    })
    const record = await fixture.store.sessions.find('BUSINESS', answer.json().data.token)
    t.match(record, {
      user_id: '1',
      extra: {
        username: ADMIN.username,
        nickname: 'Admin',
        status: 'ACTIVE',
        roles: ['SUPER_ADMIN'],
        device_type: 'Chrome',
        device_id: 'WEB_PC',
        login_ip: '127.0.0.1',
      },
    })
    t.notMatch(JSON.stringify(record), /\$2[aby]\$/, 'no hash in a record')
  })

  t.test('captcha_value and captcha_code are both answers, in any case and trimmed', async t => {
    const { captcha_value, ...rest } = await fixture.credentials()
    t.equal((await login({ ...rest, captcha_code: ` ${captcha_value!.toLowerCase()} ` })).json().code, 200)
    const { captcha_value: second, ...others } = await fixture.credentials()
    t.equal((await login({ ...others, captcha_value: second!.toUpperCase() })).json().code, 200)
  })

  t.test('a captcha is consumed by its first try, right or wrong', async t => {
    const body = await fixture.credentials()
    t.equal((await login({ ...body, captcha_value: '!!!!' })).json().message, 'Wrong captcha')
    t.equal((await login(body)).json().message, 'Captcha expired or invalid')
    const good = await fixture.credentials()
    t.equal((await login(good)).json().code, 200)
    t.equal((await login(good)).json().message, 'Captcha expired or invalid')
  })

  t.test('a missing name or password is named, and costs no captcha', async t => {
    const { username, password, ...rest } = await fixture.credentials()
    t.match((await login({ ...rest, password })).json(), { code: 400, message: 'username: is missing' })
    t.match((await login({ ...rest, username })).json(), { code: 400, message: 'password: is missing' })
    t.equal((await login({ ...rest, username, password })).json().code, 200)
  })

  t.test('an optional field that is null counts as absent', async t => {
    const nothing = { captcha_code: null, device_id: null }
    t.equal((await login({ ...(await fixture.credentials()), ...nothing })).json().code, 200)
    const { captcha_value, ...rest } = await fixture.credentials()
    const answer = await login({ ...rest, captcha_value: null, captcha_code: captcha_value })
    t.equal(answer.json().code, 200)
  })

  t.test('processing order: the captcha is checked before the password', async t => {
    const body = await fixture.credentials('nobody', 'wrong')
    t.equal((await login({ ...body, captcha_value: 'x' })).json().message, 'Wrong captcha')
    t.equal((await login({ ...body, captcha_id: '' })).json().message, 'Captcha id or answer missing')
  })

  t.test('the password is SM2 C1C3C2 in hex, with or without a leading 04', async t => {
    const publicKey = (await fixture.get(sm2KeyPath(fixture.profile))).json().data
    const encrypt = (mode: 0 | 1) => sm.sm2.doEncrypt(ADMIN.password, publicKey, mode)
    for (const password of [encrypt(1), `04${encrypt(1)}`, encrypt(1).toUpperCase()]) {
      t.equal((await login({ ...(await fixture.credentials()), password })).json().code, 200)
    }
    t.match((await login({ ...(await fixture.credentials()), password: encrypt(0) })).json(), {
      code: 400,
      message: 'Wrong username or password',
    })
    t.match((await login({ ...(await fixture.credentials()), password: ADMIN.password })).json(), {
      code: 400,
      message: 'Wrong username or password',
    })
    await fixture.signIn()
  })

  t.test('unknown user, wrong password and undecryptable password are one answer', async t => {
    const rows = [
      await fixture.credentials('nobody'),
      await fixture.credentials(ADMIN.username, 'wrong'),
      { ...(await fixture.credentials()), password: 'zz' },
    ]
    const answers = []
    for (const body of rows) {
      const answer = await login(body)
      const { trace_id, ...rest } = answer.json()
      answers.push({ status: answer.status, ...rest })
    }
    for (const answer of answers)
      t.same(answer, { status: 200, code: 400, message: 'Wrong username or password', data: null, success: false })
    await fixture.signIn()
  })

  t.test('every field is a string: other types are refused with the name of the field', async t => {
    const body = await fixture.credentials()
    for (const field of ['captcha_id', 'captcha_value', 'username', 'password', 'device_id']) {
      for (const value of [12, true, ['x'], { a: 1 }]) {
        t.match((await login({ ...body, [field]: value })).json(), {
          code: 400,
          success: false,
          message: `${field}: must be a string`,
        })
      }
    }
    t.match((await login('{"a":')).json(), { code: 400, message: /^body: / })
    t.match((await login('[]')).json(), { code: 400, message: /^body: / })
    t.equal((await login({ ...body, password: 'a'.repeat(10_000) })).json().code, 413)
  })
})

withEveryStore(
  t,
  async (t, fixture) => {
    const attempt = async (username: string, password: string) =>
      (await fixture.post('/api/v1/public/b/login', await fixture.credentials(username, password))).json()

    for (const username of [ADMIN.username, 'nobody']) {
      t.test(
        `after five failures the name ${username} gets the answer of a disabled one, also with the right password`,
        async t => {
          const began = fixture.now()
          for (let i = 0; i < 5; i++) t.equal((await attempt(username, 'wrong')).code, 400)
          const refused = await attempt(username, ADMIN.password)
          t.match(refused, { code: 403, success: false, message: 'Account disabled' })
          t.ok(isLeftOf(300, refused.data.disable_time, fixture.now() - began))
        },
      )
    }

    t.test('the lockout is a disable of the id; untie disable ends it', async t => {
      t.ok(await fixture.gateway.sides.business.isDisable('1'))
      await fixture.gateway.sides.business.untieDisable('1')
      t.equal((await attempt(ADMIN.username, ADMIN.password)).code, 200)
    })

    t.test('an id disabled by an operation gets DISABLED only after the right password', async t => {
      await fixture.gateway.sides.business.disable('1', 60)
      t.equal((await attempt(ADMIN.username, 'wrong')).code, 400)
      t.match(await attempt(ADMIN.username, ADMIN.password), { code: 403, message: 'Account disabled' })
      await fixture.gateway.sides.business.untieDisable('1')
    })
  },
  { config: { login: { lockout: { address_failures: 1000 } } } },
)

withEveryStore(
  t,
  async (t, fixture) => {
    t.test('attempts per client address are limited, captchas and logins apart', async t => {
      for (let i = 0; i < 3; i++) t.equal((await fixture.get('/api/v1/public/b/captcha')).json().code, 200)
      const refused = await fixture.get('/api/v1/public/b/captcha')
      t.match(refused.json(), { code: 429, success: false, message: /^Too many requests, try again in \d+ seconds$/ })
      t.equal(refused.status, 200)
      t.match(refused.headers['retry-after'], /^\d+$/)
      const body = { captcha_id: 'x', captcha_value: 'y', username: 'a', password: 'b' }
      for (let i = 0; i < 2; i++) t.equal((await fixture.post('/api/v1/public/b/login', body)).json().code, 400)
      t.equal((await fixture.post('/api/v1/public/b/login', body)).json().code, 429)
    })
  },
  { config: { login: { rate_limit: { captcha: 3, login: 2, window: '60s' } } } },
)

t.test('the C login is served by the gateway when login.consumer is configured', async t => {
  const fixture = await openFixture(t, { config: { login: { consumer: { kind: 'file', path: 'consumers.yaml' } } } })
  await addAccount(join(fixture.folder, 'consumers.yaml'), { ...ADMIN, id: '7' })
  const { id, answer } = await fixture.captcha('c')
  const publicKey = (await fixture.get('/api/v1/public/c/sm2/public-key')).json().data
  const body = {
    captcha_id: id,
    captcha_value: answer,
    username: ADMIN.username,
    password: sm.sm2.doEncrypt(ADMIN.password, publicKey, 1),
  }
  const { data } = (await fixture.post('/api/v1/public/c/login', body)).json()
  t.equal((await fixture.get('/api/v1/c/x', data.token)).status, 200)
  t.equal((await fixture.get('/api/v1/b/x', data.token)).json().code, 401)
})

t.test('without login.consumer a public C path belongs to the upstreams', async t => {
  const fixture = await openFixture(t)
  await fixture.get('/api/v1/public/c/login')
  t.match(fixture.upstream.requests.at(-1), { url: '/api/v1/public/c/login' })
})
