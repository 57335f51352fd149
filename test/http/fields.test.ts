import t from 'tap'
import { call } from '../support/client.ts'
import { openFixture } from '../support/gateway-fixture.ts'

/* How queries and bodies are checked by the schemas of their routes. */

const fixture = await openFixture(t, { profile: 2, config: { session_administration: true } })
const admin = await fixture.gateway.sides.business.login(undefined, '1', { roles: ['SUPER_ADMIN'] })
const clerk = await fixture.gateway.sides.business.login(undefined, '2', { permissions: [] })

const SESSIONS = '/api/v1/sys/session'
const page = async (query: string) => (await fixture.get(`${SESSIONS}/page?${query}`, admin)).json()
const post = async (route: string, body: unknown) => (await fixture.post(`${SESSIONS}/${route}`, body, admin)).json()
const refusalOf = (message: string) => ({ code: 400, success: false, data: null, message })

t.test('of several faults the first field of the schema is named', async t => {
  t.match(await post('disable', {}), refusalOf('user_id: is missing'))
  t.match(await post('disable', { seconds: 0 }), refusalOf('user_id: is missing'))
  t.match(await post('disable', { seconds: '60', user_id: 7 }), refusalOf('user_id: must be a string'))
  t.match(await post('exit-token', { token: '', user_id: '3' }), refusalOf('token: must not be empty'))
})

t.test('a body is never coerced', async t => {
  const seconds = refusalOf('seconds: must be a whole number from 1 to 315360000')
  for (const value of ['60', ' ', true, [60], 1.5, {}]) {
    t.match(await post('disable', { user_id: '3', seconds: value }), seconds, JSON.stringify(value))
  }
  for (const value of [12, true, ['3']]) {
    t.match(await post('exit', { user_id: value }), refusalOf('user_id: must be a string'), JSON.stringify(value))
  }
  t.match(await post('exit', { user_id: null }), refusalOf('user_id: is missing'))
})

t.test('in a query one to nine digits are a whole number, and an empty field is absent', async t => {
  const fault = (name: string, most: number) => refusalOf(`${name}: must be a whole number from 1 to ${most}`)
  for (const text of ['1e1', '+1', '0x1', '%201', '1.0', '-1', '1234567890', 'true', 'null', '1&current=2']) {
    t.match(await page(`current=${text}`), fault('current', 1_000_000), text)
  }
  t.match(await page('current=&size=&keyword='), { code: 200, data: { page: 1, size: 10 } })
  t.match(await page('current=007&size=5'), { code: 200, data: { page: 7, size: 5 } })
  t.match(await page('current=&page=3'), { code: 200, data: { page: 3 } })
  t.match(await page('current=2&page=3'), { code: 200, data: { page: 2 } })
  t.match(await page('page=0'), fault('page', 1_000_000))
  t.match(await page(`keyword=${'x'.repeat(129)}`), refusalOf('keyword: must be at most 128 characters'))
})

t.test('a session and its permission come before the fields', async t => {
  t.equal((await fixture.get(`${SESSIONS}/page?size=x`)).json().code, 401)
  t.equal((await fixture.get(`${SESSIONS}/page?size=x`, clerk)).json().code, 403)
  t.equal((await fixture.post(`${SESSIONS}/exit`, {}, clerk)).json().code, 403)
  const unknown = await call(fixture.internal, { method: 'POST', path: '/operations/v1/business/kickout', body: {} })
  t.equal(unknown.status, 401)
})

t.test('a refusal repeats no value, and neither does the log', async t => {
  const secret = 'a secret in the wrong field'
  const answers = [
    await fixture.post('/api/v1/public/b/login', { username: [secret], password: { secret } }),
    await fixture.post(`${SESSIONS}/exit`, { user_id: secret }, admin),
    await fixture.get(`${SESSIONS}/tokens?user_id=${encodeURIComponent(secret)}`, admin),
  ]
  for (const { text } of answers) {
    t.match(text, '"code":400')
    t.notMatch(text, secret)
  }
  t.notOk(fixture.log.some(line => line.includes(secret)))
})

t.test('of the logout by token or login id, one is needed', async t => {
  const logout = (body: unknown) => fixture.operate('consumer', 'logout', body)
  t.match(await logout({}), refusalOf('token: is missing'))
  t.match(await logout({ token: null, user_id: null }), refusalOf('token: is missing'))
  t.match(await logout({ user_id: 'a b' }), { code: 400, message: /^user_id: must be 1 to 128 characters/ })
  const token = await fixture.gateway.sides.consumer.login(undefined, '9')
  t.match(await logout({ token: null, user_id: '9' }), { code: 200, data: null })
  t.equal(await fixture.gateway.sides.consumer.getLoginIdByToken(token), '')
})
