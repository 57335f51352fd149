import t, { type Test } from 'tap'
import { call } from '../support/client.ts'
import { type FixtureOptions, openFixture } from '../support/gateway-fixture.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { startUpstream } from '../support/upstream.ts'

/* A live session where none is needed: the upstream gets its identity, and no request is refused for it. */

const PATH = '/api/v1/public/c/shop/x'

async function open(t: Test, written: object = {}, options: FixtureOptions = {}) {
  const backend = await startUpstream()
  t.teardown(() => backend.close())
  const shop = { target: backend.url, identity: { optional: 'on' }, ...written }
  const fixture = await openFixture(t, {
    ...options,
    upstreams: [
      { name: 'public', match: '/api/v1/public/c/shop', ...shop },
      { name: 'dict', match: '/api/v1/c/dict', target: backend.url, identity: { optional: 'on' } },
    ],
    config: {
      gate: { exceptions: [{ path: '/api/v1/c/dict/*', needs: 'none' }] },
      ...options.config,
    },
  })
  const login = async (side: 'business' | 'consumer', user_id = '7'): Promise<string> =>
    (await fixture.operate(side, 'login', { user_id })).data.token
  /** The status, and the identity and the token that arrive. */
  const ask = async (token?: string, path = PATH, method = 'GET') => {
    const before = backend.requests.length
    const { status } = await fixture.call({ method, path, ...(token !== undefined && { token }) })
    const [arrived] = backend.requests.slice(before)
    const { 'x-login-id': id, 'x-login-type': type, authorization } = arrived?.headers ?? {}
    return [status, id, type, authorization]
  }
  return { fixture, backend, login, ask }
}

const NOBODY = [200, undefined, undefined, undefined]

for (const profile of [1, 2] as const) {
  t.test(`the identity of a live session of either side arrives, without its token, profile ${profile}`, async t => {
    const { fixture, login, ask } = await open(t, {}, { profile })
    const [consumer, business] = [await login('consumer'), await login('business')]
    t.same(await ask(consumer), [200, '7', 'CONSUMER', undefined])
    t.same(await ask(business), [200, '7', 'BUSINESS', undefined])
    t.same(await ask(consumer, '/api/v1/c/dict/x'), [200, '7', 'CONSUMER', undefined], 'an exception that needs none')
    t.same(await ask(), NOBODY)
    t.same((await ask(consumer, '/api/v1/public/c/other'))[1], undefined, 'other upstreams learn nothing')
    t.same(
      (await ask(consumer, PATH, 'OPTIONS')).slice(1),
      [undefined, undefined, undefined],
      'OPTIONS carries nothing',
    )
    t.ok(fixture.log.some(line => JSON.parse(line).path === PATH && JSON.parse(line).login_id === '7'))
  })
}

t.test('a dead, a forged and a disabled session are no identity, and no reason to refuse', async t => {
  const { fixture, login, ask } = await open(t, {}, { config: { disable: { enforce: 'request' } } })
  const [dead, disabled] = [await login('consumer'), await login('consumer', '8')]
  await fixture.operate('consumer', 'kickout', { user_id: '7' })
  t.same(await ask(dead), NOBODY)
  t.same((await ask(`${disabled}x`)).slice(0, 3), NOBODY.slice(0, 3))
  t.same((await ask('no-token')).slice(0, 3), NOBODY.slice(0, 3))
  t.same(await ask(disabled), [200, '8', 'CONSUMER', undefined])
  await fixture.operate('consumer', 'disable', { user_id: '8', seconds: 600 })
  t.same(await ask(disabled), NOBODY)
})

t.test('a store that fails costs the identity, and not the request', { skip: withoutRedis }, async t => {
  const { fixture, login, ask } = await open(t, {}, { store: 'redis', config: { session_cache: { consumer: 'off' } } })
  const token = await login('consumer')
  t.equal((await ask(token))[1], '7')
  await fixture.redis!.kill()
  t.same(await ask(token), NOBODY)
})

t.test('identity headers of a client do not arrive, with and without a session', async t => {
  const { fixture, backend, login } = await open(t)
  const token = await login('consumer')
  for (const sent of [undefined, token]) {
    const headers = { 'x-login-id': 'forged', x_login_id: 'forged', 'x-login-type': 'BUSINESS' }
    await fixture.call({ path: PATH, headers, ...(sent !== undefined && { token: sent }) })
  }
  t.equal(backend.requests.length, 2)
  t.notOk(backend.requests.some(({ rawHeaders }) => rawHeaders.includes('forged')))
})

t.test('/verify and explain --live find the session, too', async t => {
  const { fixture, login } = await open(t)
  const token = await login('consumer')
  const verify = async (by?: string) => {
    const { status, headers } = await call(fixture.internal, {
      path: `/verify${PATH}`,
      ...(by !== undefined && { token: by }),
    })
    return [status, headers['x-login-id'], headers['x-login-type']]
  }
  t.same(await verify(token), [200, '7', 'CONSUMER'])
  t.same(await verify(), [200, '', ''])
  t.same(await verify(`${token}x`), [200, '', ''])
  const answer = await call(fixture.internal, {
    method: 'POST',
    path: '/operations/v1/explain',
    token: fixture.settings.internal.secret,
    body: { method: 'GET', target: PATH, token: `${token}x` },
  })
  const rows = answer.json().data.rows.map(({ name, value }: { name: string; value: string }) => `${name}: ${value}`)
  t.match(rows.join('\n'), /^identity: x-login-id and x-login-type, if the request has a live session of either side$/m)
  t.match(rows.join('\n'), /^decision: allowed$/m)
})

t.test('a rate limit per login-id counts the user of an optional session', async t => {
  const { login, ask } = await open(t, { rate_limit: { requests: 1, window: '60s' } })
  const [first, second] = [await login('consumer', '1'), await login('consumer', '2')]
  t.same([(await ask(first))[0], (await ask(second))[0], (await ask(first))[0], (await ask())[0]], [200, 200, 429, 200])
})
