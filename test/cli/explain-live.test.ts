import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeKey } from '../../src/token/key-form.ts'
import { call } from '../support/client.ts'
import { run } from '../support/command-line.ts'
import { type Fixture, openFixture, someone, withEveryStore } from '../support/gateway-fixture.ts'
import { makeOwnKey } from '../support/keys.ts'
import { freePort } from '../support/ports.ts'
import { startUpstream } from '../support/upstream.ts'

/** What `dualgate explain --live` prints of a running gateway, row by row. */
async function explain(fixture: Fixture, words: string[], token?: string) {
  const environment = {
    INTERNAL__PORT: new URL(fixture.internal).port,
    INTERNAL__SECRET: fixture.settings.internal.secret,
  }
  const options = token === undefined ? { environment } : { environment, input: `${token}\n` }
  const more = token === undefined ? [] : ['--token-stdin']
  const outcome = await run(
    fixture.folder,
    ['explain', '--live', '--config', 'gateway.yaml', ...words, ...more],
    options,
  )
  if (token !== undefined && token !== '')
    t.notOk(`${outcome.output}${outcome.errors}${fixture.log.join()}`.includes(token), 'the token is never shown')
  const rows: Record<string, string> = {}
  for (const [, name, value] of outcome.output.matchAll(/^(\S.{14}) (.*)$/gm)) rows[name!.trim()] ??= value!
  return { ...outcome, rows }
}

withEveryStore(t, async (t, fixture) => {
  const user = someone()
  const login = async (side: 'business' | 'consumer' = 'consumer', seconds?: number): Promise<string> =>
    (await fixture.operate(side, 'login', { user_id: user, ...(seconds !== undefined && { seconds }) })).data.token

  await t.test('a live session is allowed, with its user, its end and the target', async t => {
    const { rows, code } = await explain(fixture, ['GET', '/api/v1/c/cart?x=1'], await login())
    t.equal(code, 0)
    t.match(rows, {
      path: '/api/v1/c/cart',
      rule: /^4 of profile/,
      session: new RegExp(`^live: user ${user} of CONSUMER, since 20.*, until 20`),
      decision: 'allowed',
      target: `${fixture.upstream.url}: up, 0 requests under way`,
    })
    t.same(fixture.upstream.requests, [], 'nothing is sent')
  })

  await t.test('the answer names why a session is missing', async t => {
    const path = ['GET', '/api/v1/c/cart']
    const refused = /^refused: NOT_LOGGED_IN \(401\), Not logged in$/
    const token = await login()
    t.match((await explain(fixture, path)).rows, { session: 'no token was given', decision: refused })
    t.match((await explain(fixture, path, 'nonsense')).rows, { session: /not a token/, decision: refused })
    const forged = `${token.slice(0, -6)}AAAAAA`
    t.match((await explain(fixture, path, forged)).rows, { session: /not signed with the secret/, decision: refused })
    t.match((await explain(fixture, ['GET', '/api/v1/sys/x'], token)).rows, {
      session: new RegExp(`^live: user ${user} of CONSUMER`),
      decision: refused,
    })
    await fixture.operate('consumer', 'logout', { token })
    t.match((await explain(fixture, path, token)).rows, { session: /record is gone/, decision: refused })
  })

  await t.test('a disabled login id is named', async t => {
    const token = await login('business')
    await fixture.operate('business', 'disable', { user_id: user, seconds: 60 })
    const { rows } = await explain(fixture, ['GET', '/api/v1/sys/x'], `Bearer ${token}`)
    t.match(rows, { disabled: /^the login id, until 20/, decision: 'allowed' })
    await fixture.operate('business', 'untie-disable', { user_id: user })
  })

  await t.test('a key is named by its id, with its user, and its limits decide', async t => {
    const admin = await fixture.signIn()
    const made = await makeOwnKey(fixture, admin, { paths: ['/api/v1/b/orders'] })
    const live = new RegExp(`^${made.id}: of user 1 of BUSINESS, made 20`)
    for (const sent of [made.key, `Bearer ${made.key}`])
      t.match((await explain(fixture, ['GET', '/api/v1/b/orders/7'], sent)).rows, { key: live, decision: 'allowed' })
    const other = await explain(fixture, ['GET', '/api/v1/b/other'], made.key)
    t.match(other.rows, { key: live, decision: /^refused: KEY_NOT_ALLOWED \(403\)/ })
    const wrong = await explain(fixture, ['GET', '/api/v1/b/orders'], makeKey('BUSINESS').key)
    t.match(wrong.rows, { key: /^\w{12} of the B side is wrong, has ended/, decision: /^refused: NOT_LOGGED_IN/ })
    const listed = (await fixture.get('/api/v1/b/account/keys', admin)).json().data
    t.equal(listed[0].last_used_at, null, 'an explanation is no use')

    const { access_token } = (
      await fixture.call({
        method: 'POST',
        path: '/api/v1/public/b/token',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `grant_type=client_credentials&client_id=${made.id}&client_secret=${made.key}`,
      })
    ).json()
    const byToken = await explain(fixture, ['GET', '/api/v1/b/orders/7'], access_token)
    t.match(byToken.rows, {
      session: new RegExp(`^live: a token for key ${made.id}, of user 1 of BUSINESS`),
      decision: 'allowed',
    })
    await fixture.post('/api/v1/b/account/keys/revoke', { id: made.id }, admin)
    t.match((await explain(fixture, ['GET', '/api/v1/b/orders/7'], access_token)).rows, {
      session: /has ended/,
      decision: /^refused: NOT_LOGGED_IN/,
    })
  })

  await t.test('an own route refuses keys, and checks permissions itself', async t => {
    const admin = await fixture.signIn()
    const own = ['GET', '/api/v1/b/account']
    t.match((await explain(fixture, own, admin)).rows, { decision: /^allowed by the gate; the route itself checks/ })
    const { key } = await makeOwnKey(fixture, admin, {})
    t.equal((await fixture.get(own[1]!, key)).json().code, 403)
    t.match((await explain(fixture, own, key)).rows, { decision: /^refused: NOT_FOR_KEYS \(403\)/ })
    t.match((await explain(fixture, ['GET', '/api/v1/public/b/captcha'], key)).rows, { decision: 'allowed' })
  })

  await t.test('ambiguous paths and unknown ones are explained as without --live', async t => {
    t.match((await explain(fixture, ['GET', '/api/v1/c/../x'])).rows, { refused: 'BAD_PATH: a dot segment' })
    const { rows } = await explain(fixture, ['GET', '/nowhere'])
    t.match(rows, { refused: 'NOT_FOUND' })
    t.notOk('decision' in rows)
    const traced = await explain(fixture, ['TRACE', '/api/v1/c/cart'], await login())
    t.match(traced.rows, { refused: /^METHOD_NOT_ALLOWED/ })
    t.notOk('decision' in traced.rows)
  })
})

async function opened(t: Test, options: Parameters<typeof openFixture>[1]): Promise<Fixture> {
  const fixture = await openFixture(t, options)
  return fixture
}

t.test(
  'the decision includes the permission of the upstream, and disabled ids that requests are refused for',
  async t => {
    const other = await startUpstream()
    t.teardown(() => other.close())
    const upstreams = [{ name: 'stock', match: '/api/v1/stock', target: other.url, permission: 'sys:stock:view' }]
    const fixture = await opened(t, { upstreams, config: { disable: { enforce: 'request' } } })
    const { data } = await fixture.operate('business', 'login', { user_id: 'u1' })
    const path = ['GET', '/api/v1/stock']
    t.match((await explain(fixture, path, data.token)).rows, { decision: /NOT_PERMITTED \(403\).*sys:stock:view/ })
    await fixture.operate('business', 'disable', { user_id: 'u1', seconds: 60 })
    t.match((await explain(fixture, path, data.token)).rows, { decision: /SESSION_DISABLED \(403\)/ })
  },
)

t.test('a target that fails is shown as such', async t => {
  const target = `http://127.0.0.1:${await freePort()}`
  const upstreams = [
    { name: 'dead', match: '/api/v1/c/dead', target, ejection: { failures: 1, duration: '1h', limit: '1h' } },
  ]
  const fixture = await opened(t, { upstreams })
  const { data } = await fixture.operate('consumer', 'login', { user_id: 'u1' })
  t.equal((await fixture.get('/api/v1/c/dead', data.token)).status, 502)
  const { rows } = await explain(fixture, ['GET', '/api/v1/c/dead'], data.token)
  t.match(rows, { decision: 'allowed', target: new RegExp(`^${target}: ejected`) })
})

t.test('an explanation does not count as use of a session', async t => {
  const fixture = await opened(t, { config: { sessions: { idle_timeout: '1h' } } })
  const { data } = await fixture.operate('consumer', 'login', { user_id: 'u1' })
  await fixture.elapse(59 * 60_000)
  t.match((await explain(fixture, ['GET', '/api/v1/c/x'], data.token)).rows, { decision: 'allowed' })
  // A renewal would be written before this login.
  await fixture.operate('consumer', 'login', { user_id: 'u2' })
  await fixture.elapse(2 * 60_000)
  t.match((await explain(fixture, ['GET', '/api/v1/c/x'], data.token)).rows, { decision: /NOT_LOGGED_IN/ })
})

t.test('a token in the path is not shown', async t => {
  const fixture = await opened(t, {})
  const { output } = await explain(fixture, ['GET', '/api/v1/c/live?a=1&token=hidden-token&b=2'])
  t.match(output, /query +\?a=1&token=<token>&b=2/)
  t.notMatch(output, /hidden-token/)
})

t.test('only the internal listener explains, and only with its secret', async t => {
  const fixture = await opened(t, {})
  const body = { method: 'GET', target: '/api/v1/c/x' }
  const path = '/operations/v1/explain'
  t.equal((await call(fixture.internal, { method: 'POST', path, body })).status, 401)
  t.equal((await call(fixture.internal, { method: 'POST', path, body, token: 'another secret' })).status, 401)
  t.equal(
    (await call(fixture.url, { method: 'POST', path, body, token: fixture.settings.internal.secret })).status,
    404,
  )
  t.equal(
    (await call(fixture.internal, { method: 'POST', path, body, token: fixture.settings.internal.secret })).status,
    200,
  )
  const environment = { INTERNAL__PORT: new URL(fixture.internal).port, INTERNAL__SECRET: 'kJ3vQ8zR2xW7bN5mT9cL4pD6' }
  const words = ['explain', '--live', 'GET', '/api/v1/x', '--config', 'gateway.yaml']
  const { code, errors } = await run(fixture.folder, words, { environment })
  t.match([code, errors], [1, /the running gateway has another internal secret/])
})

t.test('the command finds the running gateway by its socket, and its secret in the data folder', async t => {
  const fixture = await opened(t, { config: { internal: { socket: 'internal.sock' } } })
  const secret = readFileSync(join(fixture.folder, 'data/internal.secret'), 'utf8').trim()
  const words = ['explain', '--live', 'GET', '/api/v1/c/x', '--config', 'gateway.yaml']
  const { code, output } = await run(fixture.folder, words)
  t.match([code, output], [0, /^decision +refused: NOT_LOGGED_IN/m])
  t.notMatch(output, secret)
})

t.test('without a running gateway, a port or a secret the command says what to do', async t => {
  const folder = t.testdir({ 'gateway.yaml': 'upstreams: []\n', 'permissions.yaml': '' })
  const live = async (environment: Record<string, string>, words: string[] = []) => {
    const all = ['explain', '--live', 'GET', '/api/v1/x', '--config', 'gateway.yaml', ...words]
    const { code, errors } = await run(folder, all, { environment })
    t.equal(code, 1)
    return errors
  }
  const secret = { INTERNAL__SECRET: 'kJ3vQ8zR2xW7bN5mT9cL4pD6' }
  t.match(await live({}), /the internal secret is not known: set INTERNAL__SECRET/)
  t.match(await live({ ...secret, INTERNAL__PORT: '0' }), /internal\.port is 0/)
  t.match(await live({ ...secret, INTERNAL__PORT: String(await freePort()) }), /no gateway answers at 127\.0\.0\.1:/)
  const { code, errors } = await run(folder, ['explain', 'GET', '/x', '--token-stdin', '--config', 'gateway.yaml'])
  t.match([code, errors], [2, /--token-stdin needs --live/])
})

t.test('another program at the internal port is named as such', async t => {
  let answer = ''
  const other = await startUpstream({ answer: (_request, response) => void response.end(answer) })
  t.teardown(() => other.close())
  const folder = t.testdir({ 'gateway.yaml': 'upstreams: []\n', 'permissions.yaml': '' })
  const environment = { INTERNAL__SECRET: 'kJ3vQ8zR2xW7bN5mT9cL4pD6', INTERNAL__PORT: String(other.port) }
  for (const text of ['<html></html>', '', 'null', '{"ok":true}', '{"message":"","data":{}}']) {
    answer = text
    const words = ['explain', '--live', 'GET', '/api/v1/x', '--config', 'gateway.yaml']
    t.same(
      await run(folder, words, { environment }),
      {
        code: 1,
        output: '',
        errors: `dualgate: another program answers at 127.0.0.1:${other.port} (internal listener); correct internal.port, or stop that program\n`,
      },
      text,
    )
  }
})
