import t from 'tap'
import { callRaw } from '../support/client.ts'
import { openFixture, withEveryStore } from '../support/gateway-fixture.ts'

withEveryStore(t, async (t, fixture) => {
  t.test('a request without a valid token: HTTP 200, code 401, success false, in both profiles', async t => {
    const answer = await fixture.get('/api/v1/b/x')
    t.equal(answer.status, 200)
    t.match(answer.headers['content-type'], /^application\/json/)
    const { trace_id, ...envelope } = answer.json()
    t.same(envelope, { code: 401, message: 'Not logged in', data: null, success: false })
    t.match(trace_id, /^[0-9a-f]{32}$/)
    t.equal(answer.headers['x-request-id'], trace_id)
  })
})

t.test('errors.http_status native answers with the code as status', async t => {
  const fixture = await openFixture(t, { config: { errors: { http_status: 'native' } } })
  const refused = await fixture.get('/api/v1/b/x')
  t.equal(refused.status, 401)
  t.equal(refused.headers['www-authenticate'], 'Bearer')
  t.equal((await fixture.post('/api/v1/public/b/login', {})).status, 400)
})

t.test('with locale zh-CN the messages are those that existing clients expect', async t => {
  const fixture = await openFixture(t, { config: { locale: 'zh-CN' } })
  t.equal((await fixture.get('/api/v1/b/x')).json().message, '未授权/未登录')
  t.equal((await fixture.get('/api/v1/public/b/captcha')).json().message, '请求成功')
  const login = async (body: unknown) => (await fixture.post('/api/v1/public/b/login', body)).json().message
  t.equal(await login({ username: 'x', password: 'y' }), '验证码ID或验证码内容不能为空')
  t.equal(await login({ captcha_id: 'x', captcha_value: 'y', username: 'x', password: 'y' }), '验证码已过期或无效')
  const body = await fixture.credentials('nobody', 'wrong password')
  t.equal(await login({ ...body, captcha_value: '!' }), '验证码错误')
  t.equal(await login(await fixture.credentials('nobody', 'wrong password')), '用户名或密码错误')
  const token = await fixture.signIn()
  t.same((await fixture.post('/api/v1/b/logout', undefined, token)).json().data, { message: '登出成功' })
})

t.test('the trace id is the client’s where it is well-formed, else new', async t => {
  const fixture = await openFixture(t)
  const traceOf = async (headers: Record<string, string>) => {
    const answer = await fixture.call({ path: '/api/v1/b/x', headers })
    t.equal(answer.headers['x-request-id'], answer.json().trace_id)
    return answer.json().trace_id
  }
  const hex = '0af7651916cd43dd8448eb211c80319c'
  t.equal(await traceOf({ trace_id: hex }), hex)
  t.equal(await traceOf({ 'x-request-id': hex }), hex)
  t.equal(await traceOf({ traceparent: `00-${hex}-b7ad6b7169203331-01` }), hex)
  t.equal(await traceOf({ trace_id: '2f1e3c5a-95c9-4f0c-8a4e-6b1d2c3e4f50' }), '2f1e3c5a-95c9-4f0c-8a4e-6b1d2c3e4f50')
  for (const bad of ['<script>', 'a b', 'x'.repeat(65), 'short', '"}'])
    t.match(await traceOf({ 'x-request-id': bad }), /^[0-9a-f]{32}$/)
  t.match(await traceOf({ traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` }), /^(?!0{32})[0-9a-f]{32}$/)
})

t.test('data that is not an HTTP request is refused with the same envelope', async t => {
  const fixture = await openFixture(t)
  const bodyOf = (text: string) => JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))
  const garbage = await callRaw(fixture.url, 'garbage\r\n\r\n')
  t.match(garbage, /^HTTP\/1\.1 400 /)
  t.match(bodyOf(garbage), { code: 400, success: false, trace_id: /^[0-9a-f]{32}$/ })
  const header = 'a'.repeat(20_000)
  const huge = await callRaw(fixture.url, `GET /api/v1/b/x HTTP/1.1\r\nHost: x\r\nX: ${header}\r\n\r\n`)
  t.match(huge, /^HTTP\/1\.1 431 /)
  t.match(bodyOf(huge), { code: 431, success: false })
})

t.test('a path without a route and an upstream is 404 for an authorized client', async t => {
  const fixture = await openFixture(t, { config: { upstreams: [] } })
  const token = await fixture.signIn()
  const answer = await fixture.get('/api/v1/b/nothing', token)
  t.equal(answer.status, 404)
  t.match(answer.json(), { code: 404, success: false, data: null })
  t.equal((await fixture.get('/api/v1/b/nothing')).json().code, 401)
})
