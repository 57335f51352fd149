import t from 'tap'
import { IDENTITY_SPELLINGS, OVERRIDING_SPELLINGS } from '../../src/base/header-names.ts'
import { makeKey } from '../../src/token/key-form.ts'
import { type Answer, call, callRaw } from '../support/client.ts'
import { type Fixture, openFixture, withEveryStore } from '../support/gateway-fixture.ts'
import { makeOwnKey } from '../support/keys.ts'

withEveryStore(t, async (t, fixture) => {
  const consumer: string = (await fixture.operate('consumer', 'login', { user_id: '42' })).data.token
  const business = await fixture.signIn()

  /** Asks as the proxies do, each in its own way. */
  const WAYS: Record<string, (target: string, method: string, token?: string) => Promise<Answer>> = {
    nginx: (target, method, token) =>
      call(fixture.internal, {
        path: '/verify',
        headers: { 'x-original-uri': target, 'x-original-method': method },
        ...(token !== undefined && { token }),
      }),
    'Traefik and Caddy': (target, method, token) =>
      call(fixture.internal, {
        path: '/verify',
        headers: { 'x-forwarded-uri': target, 'x-forwarded-method': method },
        ...(token !== undefined && { token }),
      }),
    Envoy: (target, method, token) =>
      call(fixture.internal, { method, path: `/verify${target}`, ...(token !== undefined && { token }) }),
  }

  for (const [proxy, verify] of Object.entries(WAYS)) {
    t.test(`/verify decides like the gate for requests in the form of ${proxy}`, async t => {
      const passed = await verify('/api/v1/c/orders?a=1', 'GET', consumer)
      t.equal(passed.status, 200)
      t.equal(passed.headers['x-login-id'], '42')
      t.equal(passed.headers['x-login-type'], 'CONSUMER')
      t.equal(passed.text, '')
      t.equal((await verify('/api/v1/c/orders', 'GET')).status, 401)
      t.equal((await verify('/api/v1/c/orders', 'GET', business)).status, 401)
      t.equal((await verify('/api/v1/orders', 'POST', consumer)).status, 401)
      t.equal((await verify('/api/v1/orders', 'POST', business)).headers['x-login-type'], 'BUSINESS')
      const open = await verify('/api/v1/public/b/x', 'GET')
      t.equal(open.status, 200)
      t.match(open.headers, { 'x-login-id': '', 'x-login-type': '' }, 'there and empty: no proxy keeps anything else')
      t.equal((await verify('/api/v1/orders', 'OPTIONS')).status, 200)
      for (const target of ['/elsewhere', '/api/v1//c/x', '/api/v1/c/%2e%2e/x', '/API/v1/c/x']) {
        t.equal((await verify(target, 'GET', consumer)).status, 403, target)
      }
    })
  }

  t.test('/verify refuses a path or method that a client could have chosen', async t => {
    const path = '/verify'
    const ask = async (headers: Record<string, string>): Promise<number> =>
      (await call(fixture.internal, { path, headers, token: consumer })).status
    t.equal(await ask({}), 403)
    t.equal(await ask({ 'x-original-uri': '/api/v1/public/b/x' }), 403, 'without the method')
    t.equal(await ask({ 'x-original-method': 'OPTIONS' }), 403, 'without the path')
    t.equal(
      await ask({
        'x-original-uri': '/api/v1/orders',
        'x-original-method': 'GET',
        'x-forwarded-uri': '/api/v1/public/b/x',
        'x-forwarded-method': 'GET',
      }),
      403,
      'with two paths',
    )
    t.equal(
      await ask({ 'x-original-uri': '/api/v1/orders', 'x-original-method': 'GET', 'x-forwarded-method': 'OPTIONS' }),
      403,
      'with two methods',
    )
  })

  t.test('/verify refuses every spelling of an identity header, because the proxy must remove them first', async t => {
    for (const spelling of IDENTITY_SPELLINGS.flatMap(name => [name, name.toUpperCase()])) {
      for (const [path, token] of [
        ['/verify/api/v1/public/b/x', undefined],
        ['/verify/api/v1/c/x', consumer],
      ] as const) {
        const headers = { [spelling]: '42' }
        const answer = await call(fixture.internal, { path, headers, ...(token !== undefined && { token }) })
        t.equal(answer.status, 403, `${spelling} at ${path}`)
        t.equal(answer.headers['x-login-id'], undefined)
      }
    }
    for (const name of ['X!Login!Id', 'X~Login~Type', 'x-login+key'])
      t.equal(
        (await call(fixture.internal, { path: '/verify/api/v1/c/x', headers: { [name]: '42' } })).status,
        403,
        name,
      )
    const near = { 'x-login': '1', 'x-login-ids': '1', 'x-loginid': '1' }
    t.equal((await call(fixture.internal, { path: '/verify/api/v1/public/b/x', headers: near })).status, 200)
  })

  t.test('/verify refuses headers with which a backend serves another path or method, in every spelling', async t => {
    const ask = async (name: string): Promise<number> =>
      (await call(fixture.internal, { path: '/verify/api/v1/public/b/x', headers: { [name]: '/api/v1/sys/x' } })).status
    for (const name of [
      'X-Original-URL',
      'X-Rewrite-URL',
      'X-HTTP-Method-Override',
      'X-HTTP-Method',
      'X-Method-Override',
      'SCRIPT_NAME',
      'X-Script-Name',
      'Daphne-Root-Path',
      'X-Vhm-Root',
      'X-Sendfile-Type',
      'X-Accel-Mapping',
    ])
      t.ok(OVERRIDING_SPELLINGS.includes(name.toLowerCase()), name)
    for (const name of OVERRIDING_SPELLINGS) t.equal(await ask(name), 403, name)
    for (const name of [
      'X_Forwarded_For',
      'x.forwarded-prefix',
      'X_Real_IP',
      'Content_Length',
      'X_Accel_Redirect',
      'X!Real~IP',
    ])
      t.equal(await ask(name), 403, name)
    for (const name of ['x-original', 'x-rewrite-urls', 'x_other', 'trace_id', 'x-forwarded-prefix', 'x-real-ip'])
      t.equal(await ask(name), 200, name)
  })

  t.test('/verify names to Envoy every spelling that it has to remove, and never what it sets', async t => {
    const named = async (path: string, token?: string): Promise<string[]> => {
      const { headers } = await call(fixture.internal, {
        path: `/verify${path}`,
        ...(token !== undefined && { token }),
      })
      return String(headers['x-envoy-auth-headers-to-remove']).split(',')
    }
    const anonymous = await named('/api/v1/public/b/x')
    t.same(anonymous, [...IDENTITY_SPELLINGS, ...OVERRIDING_SPELLINGS])
    for (const name of ['x-login-id', 'x_login_id', 'x-login.type', 'x.login_extra', 'x-login-signature'])
      t.ok(anonymous.includes(name), name)
    t.same(
      await named('/api/v1/c/x', consumer),
      anonymous.filter(name => name !== 'x-login-id' && name !== 'x-login-type'),
    )
  })

  t.test('/verify refuses a request with two token headers, of which the backend could read the other', async t => {
    const ask = async (...lines: string[]): Promise<string | undefined> => {
      const head = ['GET /verify/api/v1/c/x HTTP/1.1', 'Host: x', 'Connection: close', ...lines]
      return /^HTTP\/1\.1 (\d+)/.exec(await callRaw(fixture.internal, `${head.join('\r\n')}\r\n\r\n`))?.[1]
    }
    const own = `Authorization: Bearer ${consumer}`
    t.equal(await ask(own), '200')
    t.equal(await ask(own, 'authorization: Basic dTpw'), '403')
    t.equal(await ask(own, own), '403')
    t.equal(await ask('AUTHORIZATION: Basic dTpw', own), '403')
  })

  t.test('a kicked-out token does not pass /verify any more', async t => {
    const { token } = (await fixture.operate('consumer', 'login', { user_id: '43' })).data
    t.equal((await WAYS.nginx!('/api/v1/c/x', 'GET', token)).status, 200)
    await fixture.operate('consumer', 'kickout', { user_id: '43' })
    t.equal((await WAYS.nginx!('/api/v1/c/x', 'GET', token)).status, 401)
  })
})

t.test('/verify refuses two token headers under the name that the configuration gives them', async t => {
  const fixture = await openFixture(t, { environment: { JWT__TOKEN_NAME: 'X-Token' } })
  const { token } = (await fixture.operate('consumer', 'login', { user_id: '42' })).data
  const ask = async (path: string, ...lines: string[]): Promise<string | undefined> => {
    const head = [`GET /verify${path} HTTP/1.1`, 'Host: x', 'Connection: close', ...lines]
    return /^HTTP\/1\.1 (\d+)/.exec(await callRaw(fixture.internal, `${head.join('\r\n')}\r\n\r\n`))?.[1]
  }
  const own = `X-Token: Bearer ${token}`
  t.equal(await ask('/api/v1/c/x', own), '200')
  t.equal(await ask('/api/v1/c/x', own, 'x-token: other'), '403')
  t.equal(await ask('/api/v1/public/c/x', own, own), '403', 'also where none is needed')
})

t.test('the permissions of an upstream count for /verify, too', async t => {
  const fixture = await openFixture(t, {
    upstreams: [{ name: 'office', match: '/api/v1/office', target: 'builtin:echo', permission: 'sys:office' }],
  })
  const verify = (token: string): Promise<Answer> => call(fixture.internal, { path: '/verify/api/v1/office/x', token })
  const login = async (extra: object): Promise<string> =>
    (await fixture.operate('business', 'login', { user_id: '7', extra })).data.token
  t.equal((await verify(await login({}))).status, 403)
  t.equal((await verify(await login({ permissions: ['sys:office'] }))).status, 200)
})

t.test('/verify reads the cookie, and names the sign-in to a person who wants a page', async t => {
  const fixture = await openFixture(t, {
    config: {
      browser: { business: 'on', origins: ['https://allowed.example'] },
      gate: { pages: [{ path: '/wiki/*', needs: 'business' }] },
      trusted_proxies: ['127.0.0.1'],
    },
    upstreams: [{ name: 'wiki', match: '/wiki', target: 'builtin:echo' }],
  })
  const cookie = `__Host-dualgate-b=${await fixture.gateway.sides.business.login(undefined, '7')}`
  const navigation = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' }
  const ask = (path: string, headers: Record<string, string>, method = 'GET') =>
    call(fixture.internal, {
      path,
      headers: { 'x-original-uri': '/wiki/a?b=c', 'x-original-method': method, ...headers },
    })

  t.match(await ask('/verify', { cookie }), { status: 200, headers: { 'x-login-id': '7' } })
  t.equal((await ask('/verify', { cookie: `${cookie}; ${cookie}` })).status, 401)
  t.equal((await ask('/verify', { cookie, authorization: 'Bearer no.such.token' })).status, 401)
  for (const headers of [{}, { 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])
    t.equal((await ask('/verify', { cookie, ...headers } as Record<string, string>, 'POST')).status, 403)
  t.equal((await ask('/verify', { cookie, 'sec-websocket-key': 'x' })).status, 403, 'a handshake')
  const proxied = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'wiki.example', origin: 'https://wiki.example' }
  t.equal((await ask('/verify', { cookie, ...proxied }, 'POST')).status, 200, 'as the proxy names the host')
  const handshake = { cookie, ...proxied, 'x-forwarded-proto': 'wss', 'sec-websocket-key': 'x' }
  t.equal((await ask('/verify', handshake)).status, 200, 'a handshake, as Traefik names its scheme')
  t.equal((await ask('/verify', { ...handshake, origin: 'http://wiki.example' })).status, 403)
  const withToken = { ...handshake, 'x-original-uri': '/wiki/a?token=no.such.token' }
  t.equal((await ask('/verify', withToken)).status, 401, 'a handshake with another credential')

  const signIn = '/sign-in/b/?to=%2Fwiki%2Fa%3Fb%3Dc'
  t.match(await ask('/verify', navigation), { status: 401, headers: { 'x-sign-in': signIn } })
  const redirected = await ask('/verify-redirect', navigation)
  t.match(redirected, { status: 302, text: '', headers: { location: signIn, 'cache-control': 'no-store' } })
  const behind = await call(fixture.internal, { path: '/verify-redirect/wiki/a?b=c', headers: navigation })
  t.match(behind, { status: 302, headers: { location: signIn } })
  t.equal((await ask('/verify-redirect', { cookie })).status, 200)
  for (const path of ['/verify', '/verify-redirect']) {
    for (const [headers, method] of [
      [{}, 'GET'],
      [{ ...navigation, 'sec-fetch-dest': 'image' }, 'GET'],
      [navigation, 'POST'],
    ] as const) {
      const answer = await ask(path, headers as Record<string, string>, method)
      t.equal(answer.status, 401, 'for programs')
      t.notOk(answer.headers['x-sign-in'] ?? answer.headers.location)
    }
  }
})

t.test('/verify names the key of a program, and its limits hold there', async t => {
  const fixture = await openFixture(t, { config: { trusted_proxies: ['127.0.0.1'] } })
  const admin = await fixture.signIn()
  const ask = (key: string, path: string, client = '10.0.0.7') =>
    call(fixture.internal, { path: `/verify${path}`, token: key, headers: { 'x-forwarded-for': client } })
  const { id, key } = await makeOwnKey(fixture, admin, { paths: ['/api/v1/b/orders'], addresses: ['10.0.0.0/24'] })
  const { status, headers } = await ask(key, '/api/v1/b/orders/7')
  t.match([status, headers['x-login-id'], headers['x-login-key']], [200, '1', id])
  t.notOk(String(headers['x-envoy-auth-headers-to-remove']).split(',').includes('x-login-key'))
  t.equal((await ask(key, '/api/v1/b/other')).status, 403)
  t.equal((await ask(key, '/api/v1/b/orders', '10.0.1.7')).status, 403)
  t.equal((await ask(key, '/api/v1/c/orders')).status, 401)
  t.equal((await ask(makeKey('BUSINESS').key, '/api/v1/b/orders')).status, 401)
  t.equal((await ask(admin, '/api/v1/b/orders')).headers['x-login-key'], '', 'a token has none')
})

t.test('wrong keys that a proxy asks about count for its client, and for no client if none is known', async t => {
  const wrong = (fixture: Fixture, client: string) =>
    call(fixture.internal, {
      path: '/verify/api/v1/b/x',
      token: makeKey('BUSINESS').key,
      headers: { 'x-forwarded-for': client },
    })
  const known = await openFixture(t, { config: { trusted_proxies: ['127.0.0.1'] } })
  for (let i = 0; i < 30; i++) t.equal((await wrong(known, '10.0.0.7')).status, 401)
  t.equal((await wrong(known, '10.0.0.7')).status, 429)
  t.equal((await wrong(known, '10.0.0.8')).status, 401, 'another client')
  const unknown = await openFixture(t)
  for (let i = 0; i < 40; i++) t.equal((await wrong(unknown, '10.0.0.7')).status, 401)
})
