import t from 'tap'
import { openFixture, someone, withEveryPair } from '../support/gateway-fixture.ts'

withEveryPair(t, async (t, fixture) => {
  const b = await fixture.gateway.sides.business.login(undefined, someone())
  const c = await fixture.gateway.sides.consumer.login(undefined, someone())
  /** Who gets through to the upstream: without a token, with one of the C side, with one of the B side. */
  const passes = async (path: string, method = 'GET') => {
    const result: string[] = []
    for (const [name, token] of [
      ['nobody', undefined],
      ['consumer', c],
      ['business', b],
    ] as const) {
      const before = fixture.upstream.requests.length
      await fixture.call({ method, path, ...(token !== undefined && { token }) })
      if (fixture.upstream.requests.length > before) result.push(name)
    }
    return result.join(' ')
  }
  const everybody = 'nobody consumer business'

  t.test('rule 1: the open paths need no session, and are the gateway’s own', async t => {
    for (const path of [
      '/favicon.ico',
      '/docs',
      '/redoc',
      '/openapi.json',
      ...(fixture.profile === 2 ? ['/v3/api-docs'] : []),
    ]) {
      t.equal((await fixture.get(path)).status, 200, path)
      t.equal(await passes(path), '', `${path} is never forwarded`)
    }
  })

  t.test('rule 2: OPTIONS needs no session', async t => {
    for (const path of ['/api/v1/sys/x', '/api/v1/c/x', '/api/v1/b/x'])
      t.equal(await passes(path, 'OPTIONS'), everybody, path)
  })

  t.test('rule 3: public paths need no session', async t => {
    for (const path of ['/api/v1/public/b/x', '/api/v1/public/c/x', '/api/v2/public/c/x/y'])
      t.equal(await passes(path), everybody, path)
    t.equal(await passes('/api/v1/public/other/x'), fixture.profile === 2 ? everybody : 'business')
  })

  t.test('rule 4: /api/v<n>/c/* needs a session of the C side', async t => {
    for (const path of ['/api/v1/c/x', '/api/v1/c/', '/api/v12/c/x/y?q=1'])
      t.equal(await passes(path), 'consumer', path)
  })

  t.test('rule 5: /api/v<n>/b/* needs a session of the B side', async t => {
    for (const path of ['/api/v1/b/x', '/api/v3/b/']) t.equal(await passes(path), 'business', path)
  })

  t.test('rule 6: any other /api/v<n>/* needs a session of the B side, sys and client included', async t => {
    for (const path of ['/api/v1/sys/x', '/api/v1/client/x', '/api/v1/orders', '/api/v1/c', '/api/v1/C/x']) {
      t.equal(await passes(path), 'business', path)
    }
  })

  t.test('a path without a rule is not found for every client', async t => {
    for (const path of ['/', '/sys', '/api', '/api/vx/c/x', '/API/v1/c/x', '/docsx', '/docs/']) {
      t.equal(await passes(path), '', path)
      t.match((await fixture.get(path, b)).json(), { code: 404, success: false })
      t.equal((await fixture.get(path, b)).status, 404)
    }
  })

  t.test('an unauthenticated request is not forwarded', async t => {
    const before = fixture.upstream.requests.length
    t.match((await fixture.get('/api/v1/c/x', b)).json(), { code: 401, success: false })
    t.equal(fixture.upstream.requests.length, before)
  })

  t.test('the services behind the gateway read the user from X-Login-Id and X-Login-Type', async t => {
    const user = someone()
    const token = await fixture.gateway.sides.consumer.login(undefined, user)
    await fixture.call({
      path: '/api/v1/c/x?a=%2F..&b',
      token,
      headers: { 'x-login-id': 'forged', X_Login_Type: 'BUSINESS' },
    })
    const arrived = fixture.upstream.requests.at(-1)!
    t.equal(arrived.url, '/api/v1/c/x?a=%2F..&b')
    t.equal(arrived.headers['x-login-id'], user)
    t.equal(arrived.headers['x-login-type'], 'CONSUMER')
    t.equal(arrived.headers.authorization, undefined)
    t.notMatch(arrived.rawHeaders.join('\n'), /forged|x_login/i)
    await fixture.call({ path: '/api/v1/public/c/x', headers: { 'x-login-id': 'forged' } })
    t.equal(fixture.upstream.requests.at(-1)!.headers['x-login-id'], undefined)
  })
})

t.test('versioning: the gate takes any version, the gateway’s own routes answer at the configured ones', async t => {
  const fixture = await openFixture(t, { config: { api_versions: [1, 3] } })
  for (const version of [1, 3])
    t.match((await fixture.get(`/api/v${version}/public/b/captcha`)).json(), { code: 200, data: { captcha_id: /-/ } })
  await fixture.get('/api/v2/public/b/captcha')
  t.match(fixture.upstream.requests.at(-1), { url: '/api/v2/public/b/captcha' })
})
