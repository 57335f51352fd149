import { join } from 'node:path'
import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { addAccount } from '../../src/account/file/source.ts'
import { codeAt } from '../second-factor/factor-fixture.ts'
import { type Answer, call } from '../support/client.ts'
import { ADMIN, someone, withEveryStore } from '../support/gateway-fixture.ts'

/* What the documents say of an answer is what arrives. */

/** Answers may hold no more than what is described, though clients must bear more. */
function closed(schema: any): any {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]))
  return inner.properties === undefined ? inner : { additionalProperties: false, ...inner }
}

const ajv = new Ajv2020({ strict: false, formats: { uuid: true } })
/** By description: most are the same for all gateways. */
const compiled = new Map<string, ValidateFunction>()

function compile(described: object, Refusal: object): ValidateFunction {
  const text = JSON.stringify(described, (_, value) =>
    value?.$ref === '#/components/schemas/Refusal' ? Refusal : value,
  )
  const validate = compiled.get(text) ?? ajv.compile(closed(JSON.parse(text)))
  compiled.set(text, validate)
  return validate
}

/** Says what is wrong with an answer, by its route's description; empty when nothing is. */
function createJudge(document: any) {
  const { Refusal } = document.components.schemas
  /** Most are answered many times. */
  const validators = new Map<object, ValidateFunction>()
  return (method: string, path: string, { status, headers, text, json }: Answer): string => {
    const response = document.paths[path]?.[method.toLowerCase()]?.responses[status]
    if (response === undefined) return `${method} ${path} answers ${status}, which is not described`
    const type = headers['content-type']!.split(';', 1)[0]!
    const described = response.content[type]?.schema
    if (described === undefined) return `${method} ${path} answers ${type}, which is not described`
    const validate = validators.get(described) ?? compile(described, Refusal)
    validators.set(described, validate)
    const value = type === 'application/json' ? json() : text
    return validate(value) ? '' : `${method} ${path}: ${ajv.errorsText(validate.errors)} in ${text}`
  }
}

withEveryStore(
  t,
  async (t, fixture) => {
    const judge = createJudge((await fixture.get('/openapi.json')).json())
    const judgeInternal = createJudge((await call(fixture.internal, { path: '/openapi.json' })).json())
    const admin = await fixture.signIn()
    const seen = new Set<string>()

    const check = async (t: Test, method: string, path: string, query = '', body?: unknown, token?: string) => {
      seen.add(`${method} ${path}`)
      const answer = await fixture.call({ method, path: path + query, body, ...(token !== undefined && { token }) })
      t.equal(judge(method, path, answer), '')
      return answer
    }

    t.test('the login answers as it is described', async t => {
      await check(t, 'GET', '/api/v1/public/b/captcha')
      for (const path of Object.keys((await fixture.get('/openapi.json')).json().paths).filter(path =>
        /sm2/.test(path),
      )) {
        await check(t, 'GET', path)
      }
      await check(t, 'POST', '/api/v1/public/b/login', '', await fixture.credentials())
      for (const body of [
        {},
        [],
        await fixture.credentials('admin', 'wrong'),
        { ...(await fixture.credentials()), captcha_id: '' },
      ]) {
        await check(t, 'POST', '/api/v1/public/b/login', '', body)
      }
      const new_password = (await fixture.credentials()).password
      for (const body of [{}, { ticket: 'x', new_password }]) {
        await check(t, 'POST', '/api/v1/public/b/login/password', '', body)
      }
      for (const side of ['business', 'consumer'] as const) {
        const token = await fixture.gateway.sides[side].login(undefined, someone())
        const path = `/api/v1/${side === 'business' ? 'b' : 'c'}/logout`
        await check(t, 'POST', path, '', {}, token)
        await check(t, 'POST', path, '', {}, token)
      }
    })

    t.test('the account of a user answers as it is described', async t => {
      await check(t, 'GET', '/api/v1/b/account', '', undefined, admin)
      await check(t, 'GET', '/api/v1/b/account')
      const path = '/api/v1/b/account/password'
      const [present, other, short] = await Promise.all(
        [ADMIN.password, 'battery staple 7', 'short'].map(
          async password => (await fixture.credentials(ADMIN.username, password)).password!,
        ),
      )
      for (const [current_password, new_password, code] of [
        ['x', other, 400],
        [present, 'x', 400],
        [present, short, 400],
        [present, other, 200],
        [other, present, 200],
      ]) {
        const answer = await check(t, 'POST', path, '', { current_password, new_password }, admin)
        t.equal(answer.json().code, code)
      }
      await check(t, 'POST', path, '', {}, admin)
      await check(t, 'POST', path, '', {})
    })

    t.test('the second factor of a user answers as it is described', async t => {
      const base = '/api/v1/b/account/second-factor'
      const post = (name: string, body: unknown, token = admin) => check(t, 'POST', `${base}/${name}`, '', body, token)
      const { password: current_password } = await fixture.credentials()
      for (const name of ['setup', 'confirm', 'recovery-codes', 'remove']) {
        for (const body of [{}, { current_password: 'x', code: 'x' }]) await post(name, body)
        await check(t, 'POST', `${base}/${name}`, '', {})
      }
      await post('remove', { current_password, code: '000000' })
      const { secret } = (await post('setup', { current_password })).json().data
      const confirmed = await post('confirm', { code: codeAt(secret, fixture.now()) })
      const [first, second] = confirmed.json().data.recovery_codes
      await post('setup', { current_password })
      await post('recovery-codes', { current_password, code: 'x' })
      await post('setup', { current_password, code: first })
      const renewed = await post('recovery-codes', { current_password, code: second })
      const [code] = renewed.json().data.recovery_codes
      t.equal((await post('remove', { current_password, code })).json().code, 200)
    })

    t.test('the own account answers as it is described', async t => {
      const path = '/api/v1/b/account'
      for (const client of [admin, undefined]) {
        await check(t, 'GET', path, '', undefined, client)
        const { password } = await fixture.credentials()
        for (const body of [{}, { current_password: password, new_password: password }]) {
          await check(t, 'POST', `${path}/password`, '', body, client)
        }
      }
    })

    t.test('own sessions answer as they are described', async t => {
      for (const [side, base] of [
        ['business', '/api/v1/b/session'],
        ['consumer', '/api/v1/c/session'],
      ] as const) {
        const user = someone()
        const token = await fixture.gateway.sides[side].login(undefined, user, { login_ip: '10.0.0.1' })
        await fixture.gateway.sides[side].login(undefined, user)
        const { data } = (await fixture.get(`${base}/tokens`, token)).json()
        for (const client of [token, undefined]) {
          await check(t, 'GET', `${base}/tokens`, '', undefined, client)
          for (const body of [{ token: data[0].token }, { token: 'unknown' }, {}])
            await check(t, 'POST', `${base}/exit-token`, '', body, client)
          await check(t, 'POST', `${base}/exit-others`, '', undefined, client)
        }
        await fixture.gateway.sides[side].kickout(user)
        await check(t, 'GET', `${base}/tokens`, '', undefined, token)
      }
    })

    t.test('the steps of a login answer as they are described', async t => {
      const login = '/api/v1/public/b/login'
      const ask = async (path: string, body: object) => (await check(t, 'POST', login + path, '', body)).json().data
      for (const path of ['/second-factor', '/second-factor/setup', '/password']) {
        for (const body of [{}, { ticket: 'x', code: 'x', new_password: 'x' }]) await ask(path, body)
      }
      const [username, password] = ['guarded', 'correct horse 2']
      await addAccount(join(fixture.folder, 'accounts.yaml'), { username, password, roles: ['guarded'] })
      const signIn = async () => ask('', await fixture.credentials(username, password))
      const { ticket } = await signIn()
      const { secret } = await ask('/second-factor/setup', { ticket })
      t.match(await ask('/second-factor', { ticket, code: 'wrong' }), null)
      const code = codeAt(secret, fixture.now())
      const { token, recovery_codes } = await ask('/second-factor', { ticket, code })
      t.match([token, recovery_codes.length], [/./, 10])
      const again = await signIn()
      t.match(await ask('/second-factor', { ticket: again.ticket, code: recovery_codes[0] }), { token: /./ })
    })

    t.test('keys answer as they are described', async t => {
      const base = '/api/v1/b/account/keys'
      const { password: current_password } = await fixture.credentials()
      const post = (path: string, body: unknown, client?: string) => check(t, 'POST', path, '', body, client)
      const { id, key } = (
        await post(`${base}/add`, { name: 'a', paths: ['/api/v1/b'], current_password }, admin)
      ).json().data
      await post(`${base}/add`, { name: 'a', days: 7, permissions: [], addresses: ['::1'], current_password }, admin)
      for (const client of [admin, key, undefined]) {
        await check(t, 'GET', base, '', undefined, client)
        for (const body of [{}, { name: 'a', current_password: 'x' }, { name: 'a', days: 0, current_password }])
          await post(`${base}/add`, body, client)
        for (const body of [{}, { id: 'x', current_password }, { id, current_password: 'x' }])
          await post(`${base}/rotate`, body, client)
        for (const body of [{}, { id: 'x' }]) await post(`${base}/revoke`, body, client)
      }
      t.equal((await post(`${base}/rotate`, { id, current_password }, admin)).json().code, 200)
      t.equal((await post(`${base}/rotate`, { id, current_password }, admin)).json().code, 400)
      t.equal((await post(`${base}/revoke`, { id }, admin)).json().code, 200)
    })

    t.test('the administration of keys answers as it is described', async t => {
      const base = '/api/v1/sys/key'
      const { password: current_password } = await fixture.credentials()
      const unprivileged = await fixture.gateway.sides.business.login(undefined, someone())
      const service = { username: someone(), service: true }
      const user_id = (await check(t, 'POST', '/api/v1/sys/account/add', '', service, admin)).json().data.id
      const post = (path: string, body: unknown, client?: string) =>
        check(t, 'POST', `${base}/${path}`, '', body, client)
      const { id } = (await post('add', { user_id, name: 'a', current_password }, admin)).json().data
      for (const client of [admin, unprivileged, undefined]) {
        for (const query of ['', `?user_id=${user_id}`, '?size=x'])
          await check(t, 'GET', `${base}/page`, query, undefined, client)
        for (const owner of ['1', 'nobody', user_id])
          await post('add', { user_id: owner, name: 'a', current_password: 'x' }, client)
        for (const owner of ['1', 'nobody']) await post('add', { user_id: owner, name: 'a', current_password }, client)
        for (const body of [{}, { user_id, id: 'x' }]) await post('revoke', body, client)
      }
      t.equal((await post('revoke', { user_id, id }, admin)).json().code, 200)
    })

    t.test('the token endpoint answers as it is described', async t => {
      const path = '/api/v1/public/b/token'
      const { password: current_password } = await fixture.credentials()
      const { id, key } = (
        await fixture.post('/api/v1/b/account/keys/add', { name: 'a', current_password }, admin)
      ).json().data
      const form = `grant_type=client_credentials&client_id=${id}`
      for (const [body, status] of [
        [`${form}&client_secret=${key}`, 200],
        [`${form}&client_secret=x`, 401],
        [form, 401],
        ['', 400],
        ['grant_type=password', 400],
      ] as const) {
        seen.add(`POST ${path}`)
        const headers = { 'content-type': 'application/x-www-form-urlencoded' }
        const answer = await fixture.call({ method: 'POST', path, headers, body })
        t.equal(answer.status, status)
        t.equal(judge('POST', path, answer), '')
      }
    })

    t.test('the journal answers as it is described', async t => {
      await fixture.gateway.sides.consumer.disable(someone(), 60)
      for (const path of ['/api/v1/sys/journal/page', '/api/v1/sys/journal/export']) {
        for (const client of [admin, undefined]) {
          for (const query of ['', '?size=1', '?type=CONSUMER&username=x', '?cursor=x', '?since=x']) {
            await check(t, 'GET', path, query, undefined, client)
          }
        }
      }
    })

    t.test('the session administration answers as it is described', async t => {
      const unprivileged = await fixture.gateway.sides.business.login(undefined, someone())
      await check(t, 'GET', '/api/v1/sys/session/current', '', undefined, admin)
      for (const [side, base] of [
        ['business', '/api/v1/sys/session'],
        ['consumer', '/api/v1/client/session'],
      ] as const) {
        const user_id = someone()
        const extra = { username: 'a', nickname: 'b', login_ip: '10.0.0.1', device_type: 'Chrome' }
        const token = await fixture.gateway.sides[side].login(undefined, user_id, extra)
        await fixture.gateway.sides[side].login(undefined, user_id)
        for (const client of [admin, unprivileged, undefined]) {
          await check(t, 'GET', `${base}/analysis`, '', undefined, client)
          await check(t, 'GET', `${base}/chart-data`, '', undefined, client)
          await check(t, 'GET', `${base}/page`, '?size=5', undefined, client)
          await check(t, 'GET', `${base}/page`, '?size=x', undefined, client)
          await check(t, 'GET', `${base}/tokens`, `?user_id=${user_id}`, undefined, client)
          await check(t, 'GET', `${base}/disabled`, `?user_id=${user_id}`, undefined, client)
          await check(t, 'POST', `${base}/disable`, '', { user_id, seconds: 60 }, client)
          await check(t, 'GET', `${base}/disabled`, `?user_id=${user_id}`, undefined, client)
          await check(t, 'GET', `${base}/disabled-page`, '?size=5', undefined, client)
          await check(t, 'GET', `${base}/disabled-page`, '?size=x', undefined, client)
          await check(t, 'POST', `${base}/untie-disable`, '', { user_id }, client)
          await check(t, 'POST', `${base}/exit-token`, '', { user_id, token }, client)
          await check(t, 'POST', `${base}/exit-token`, '', { user_id, token }, client)
          await check(t, 'POST', `${base}/exit`, '', { user_id }, client)
          await check(t, 'POST', `${base}/exit`, '', {}, client)
        }
      }
    })

    t.test('the account administration answers as it is described', async t => {
      const unprivileged = await fixture.gateway.sides.business.login(undefined, someone())
      const base = '/api/v1/sys/account'
      const { id } = (await check(t, 'POST', `${base}/add`, '', { username: someone() }, admin)).json().data
      await check(t, 'POST', `${base}/add`, '', { username: someone(), service: true }, admin)
      for (const client of [admin, unprivileged, undefined]) {
        await check(t, 'GET', `${base}/page`, '?size=5', undefined, client)
        await check(t, 'GET', `${base}/page`, '?status=x', undefined, client)
        await check(t, 'GET', `${base}/detail`, `?id=${id}`, undefined, client)
        await check(t, 'GET', `${base}/detail`, '?id=nobody', undefined, client)
        await check(t, 'GET', `${base}/roles`, '', undefined, client)
        for (const body of [{ id, nickname: 'Ann' }, { id: 'nobody' }, { id, roles: 'x' }]) {
          for (const path of ['add', 'edit', 'reset-password', 'reset-second-factor']) {
            await check(t, 'POST', `${base}/${path}`, '', body, client)
          }
        }
        await check(t, 'POST', `${base}/remove`, '', { id: '1' }, client)
      }
      await check(t, 'POST', `${base}/remove`, '', { id }, admin)
    })

    t.test('every route of the document was requested', async t => {
      const { paths } = (await fixture.get('/openapi.json')).json()
      for (const [path, item] of Object.entries<object>(paths)) {
        for (const method of Object.keys(item)) t.ok(seen.has(`${method.toUpperCase()} ${path}`), `${method} ${path}`)
      }
    })

    t.test('the probes answer as they are described', async t => {
      for (const path of ['/livez', '/readyz'])
        t.equal(judgeInternal('GET', path, await call(fixture.internal, { path })), '')
      t.match(await call(fixture.internal, { path: '/metrics' }), {
        status: 200,
        headers: { 'content-type': /^text\/plain/ },
      })
    })

    t.test('the operations answer as they are described', async t => {
      const { paths } = (await call(fixture.internal, { path: '/openapi.json' })).json()
      const secret = fixture.settings.internal.secret
      for (const path of Object.keys(paths).filter(path => path.startsWith('/operations/'))) {
        const side = path.includes('/business/') ? 'business' : 'consumer'
        const user_id = someone()
        const live = await fixture.gateway.sides[side].login(undefined, user_id, {
          nickname: 'Ann',
          nested: { deep: [1] },
        })
        const whole = { user_id, token: live, seconds: 60, name: 'nickname', extra: {} }
        const body = path.endsWith('/logout') ? { token: live } : whole
        for (const [token, sent] of [
          [secret, body],
          [secret, { ...body, token: 'a.b.c' }],
          [secret, []],
          ['wrong', body],
        ] as const) {
          const answer = await call(fixture.internal, { method: 'POST', path, token, body: sent })
          t.equal(judgeInternal('POST', path, answer), '', `${path} ${JSON.stringify(sent)}`)
        }
      }
    })
  },
  {
    config: {
      session_administration: true,
      account_administration: true,
      own_sessions: { consumer: true },
      sessions: { tell_end: '1h' },
      login: { second_factor: { for: ['guarded'] } },
    },
  },
)
