import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { createClient, OperationError } from '../../src/package/client.ts'
import { PROFILES } from '../../src/settings/profile.ts'
import { operationNames } from '../../src/side/operations.ts'
import { openFixture } from '../support/gateway-fixture.ts'
import { makeOwnKey } from '../support/keys.ts'
import { PATIENCE } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'

t.test('the client has the results of the operations', async t => {
  const fixture = await openFixture(t, { profile: 2 })
  const { consumer, business } = createClient({
    url: fixture.internal,
    secret: fixture.settings.internal.secret,
    timeout: PATIENCE,
  })

  const token = await consumer.login('42', { nickname: 'Ann' })
  t.equal(await consumer.isLogin(token), true)
  t.equal(await consumer.getLoginId(token), '42')
  t.equal(await consumer.getLoginIdDefaultNull(token), '42')
  t.equal(await consumer.getLoginType(), 'CONSUMER')
  t.match(await consumer.getTokenInfo(token), { user_id: '42', type: 'CONSUMER', extra: { nickname: 'Ann' } })
  t.match(await consumer.getSession(token), { user_id: '42' })
  t.equal(await consumer.getExtra(token, 'nickname'), 'Ann')
  t.equal(await consumer.renewTimeout(token, 100), null)
  t.ok((await consumer.getTokenTimeout(token)) <= 100)
  t.ok((await consumer.getSessionTimeout(token)) <= 100)
  t.equal(await consumer.getTokenValueByLoginId('42'), token)
  t.same(await consumer.getTokenValuesByLoginId('42'), [token])
  t.equal(await business.isLogin(token), false, 'the other side knows nothing of it')
  t.equal(await consumer.kickoutToken('42', token), null)
  t.equal(await consumer.getLoginId(token), '')
  await consumer.kickout('42')
  await consumer.logout(await consumer.login('42'))
  t.equal(await consumer.getTokenValueByLoginId('42'), null)

  await consumer.disable('42', 60)
  t.equal(await consumer.isDisable('42'), true)
  t.ok((await consumer.getDisableTime('42')) > 0)
  await t.rejects(consumer.login('42'), { name: 'OperationError', code: 403 })
  await t.rejects(consumer.checkDisable('42'), { code: 403 })
  await consumer.untieDisable('42')
  t.equal(await consumer.checkDisable('42'), null)
  t.equal(await consumer.getDisableTime('42'), -1)
})

t.test('the client asks whose a key is', async t => {
  const fixture = await openFixture(t)
  const { business, consumer } = createClient({
    url: fixture.internal,
    secret: fixture.settings.internal.secret,
    timeout: PATIENCE,
  })
  const made = await makeOwnKey(fixture, await fixture.signIn())
  t.match(await business.verifyKey(made.key), { id: made.id, user_id: '1', roles: ['SUPER_ADMIN'], permissions: [] })
  t.equal(await business.verifyKey(made.key.slice(0, -1)), null)
  await t.rejects(consumer.verifyKey(made.key), { name: 'OperationError', code: 404 }, 'a side without keys')
})

t.test('the client has every operation except those that need a request', async t => {
  const { consumer } = createClient({ url: 'http://127.0.0.1:1', secret: 'x' })
  const needless = ['getLoginIdByToken', 'getTokenValue']
  const expected = operationNames(PROFILES[2]).filter(name => !needless.includes(name))
  t.same(Object.keys(consumer).sort(), [...expected, 'verifyKey'].sort())
})

t.test('a wrong secret and an unreachable gateway are different errors', async t => {
  const fixture = await openFixture(t)
  const wrong = createClient({ url: fixture.internal, secret: 'not the secret at all', timeout: PATIENCE })
  const refused = await wrong.consumer.login('42').catch(fault => fault)
  t.ok(refused instanceof OperationError)
  t.match(refused, { code: 401, message: /internal secret is missing or wrong/, traceId: /^[0-9a-f]{32}$/ })
  await t.rejects(createClient({ url: 'http://127.0.0.1:1', secret: 'x' }).consumer.login('42'), { name: 'TypeError' })
})

t.test('what is not the internal listener of a gateway is named', async t => {
  const other = await startUpstream()
  t.teardown(() => other.close())
  const { consumer } = createClient({ url: other.url, secret: 'x', timeout: PATIENCE })
  const answers: Record<string, [status: number, headers: Record<string, string>, body: string]> = {
    'a page': [502, { 'content-type': 'text/html' }, '<h1>Bad Gateway</h1>'],
    'other JSON': [200, { 'content-type': 'application/json' }, '{"status":"ok"}'],
    nothing: [200, {}, ''],
    'a redirect': [307, { location: `${other.url}/elsewhere` }, ''],
  }
  for (const [what, [status, headers, body]] of Object.entries(answers)) {
    other.answer = (_request, response) => response.writeHead(status, headers).end(body)
    const fault = { name: 'Error', message: `${other.url} answered ${status}, and not as` }
    await t.rejects(consumer.login('42'), fault, what)
  }
  t.equal(other.requests.length, 4, 'no redirect is followed')
})

t.test('the client reaches an internal listener on a Unix socket, by the URL that the gateway names', async t => {
  const fixture = await openFixture(t, { profile: 2, config: { internal: { socket: 'internal.sock' } } })
  const url = `unix:${join(fixture.folder, 'internal.sock')}`
  t.equal(fixture.internal, url)
  const { secret } = fixture.settings.internal
  const { consumer } = createClient({ url, secret, timeout: 60_000 })
  const token = await consumer.login('42', { nickname: 'Änn' })
  t.match(await consumer.getSession(token), { user_id: '42' })
  t.equal(await consumer.getExtra(token, 'nickname'), 'Änn')
  await t.rejects(createClient({ url, secret: 'wrong', timeout: 60_000 }).consumer.logout(token), {
    name: 'OperationError',
    code: 401,
  })
  await t.rejects(createClient({ url: `${url}.absent`, secret }).consumer.logout(token), { code: 'ENOENT' })
})

t.test('what else listens on a socket is named, and one that does not answer is given up', async t => {
  const path = join(mkdtempSync(join(tmpdir(), 'dg-')), 'other.sock')
  t.teardown(() => rmSync(dirname(path), { recursive: true, force: true }))
  let answers = true
  const other = createServer(
    (_request, response) => void (answers && response.writeHead(502).end('<h1>Bad Gateway</h1>')),
  )
  await once(other.listen(path), 'listening')
  t.teardown(() => other.close())
  const url = `unix:${path}`
  await t.rejects(createClient({ url, secret: 'x', timeout: 60_000 }).consumer.login('42'), {
    message: `${url} answered 502, and not as the internal listener of a gateway does`,
  })
  answers = false
  await t.rejects(createClient({ url, secret: 'x', timeout: 1 }).consumer.login('42'), { name: 'TimeoutError' })
})
