import { readFileSync } from 'node:fs'
import t from 'tap'
import { type Answer, call } from '../caller.ts'
import { runNginx, withoutNginx } from '../nginx.ts'
import { freePort } from '../ports.ts'
import { startUpstream } from '../upstream.ts'
import { inEveryWorld, openWorld } from '../world.ts'

inEveryWorld(t, async (t, world) => {
  const consumer: string = (await world.operate('consumer', 'login', { user_id: '42' })).data.token
  const business = await world.signIn()

  /** Asks as the proxies do, each in its own way. */
  const WAYS: Record<string, (target: string, method: string, token?: string) => Promise<Answer>> = {
    nginx: (target, method, token) =>
      call(world.internal, {
        path: '/verify',
        headers: { 'x-original-uri': target, 'x-original-method': method },
        ...(token !== undefined && { token }),
      }),
    'Traefik and Caddy': (target, method, token) =>
      call(world.internal, {
        path: '/verify',
        headers: { 'x-forwarded-uri': target, 'x-forwarded-method': method },
        ...(token !== undefined && { token }),
      }),
    Envoy: (target, method, token) =>
      call(world.internal, { method, path: `/verify${target}`, ...(token !== undefined && { token }) }),
  }

  for (const [proxy, verify] of Object.entries(WAYS)) {
    t.test(`/verify decides as the gate does, asked as ${proxy} asks`, async t => {
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
      t.equal(open.headers['x-login-id'], undefined)
      t.equal((await verify('/api/v1/orders', 'OPTIONS')).status, 200)
      for (const target of ['/elsewhere', '/api/v1//c/x', '/api/v1/c/%2e%2e/x', '/API/v1/c/x']) {
        t.equal((await verify(target, 'GET', consumer)).status, 403, target)
      }
    })
  }

  t.test('/verify refuses what a caller could have chosen', async t => {
    const path = '/verify'
    const ask = async (headers: Record<string, string>): Promise<number> =>
      (await call(world.internal, { path, headers, token: consumer })).status
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

  t.test('a kicked-out token does not pass /verify any more', async t => {
    const { token } = (await world.operate('consumer', 'login', { user_id: '43' })).data
    t.equal((await WAYS.nginx!('/api/v1/c/x', 'GET', token)).status, 200)
    await world.operate('consumer', 'kickout', { user_id: '43' })
    t.equal((await WAYS.nginx!('/api/v1/c/x', 'GET', token)).status, 401)
  })
})

t.test('the permissions of an upstream count for /verify, too', async t => {
  const world = await openWorld({
    upstreams: [{ name: 'office', match: '/api/v1/office', target: 'builtin:echo', permission: 'sys:office' }],
  })
  t.teardown(() => world.close())
  const verify = (token: string): Promise<Answer> => call(world.internal, { path: '/verify/api/v1/office/x', token })
  const login = async (extra: object): Promise<string> =>
    (await world.operate('business', 'login', { user_id: '7', extra })).data.token
  t.equal((await verify(await login({}))).status, 403)
  t.equal((await verify(await login({ permissions: ['sys:office'] }))).status, 200)
})

t.test("the README's nginx lets through what the gate lets through", { skip: withoutNginx }, async t => {
  const world = await openWorld()
  const backend = await startUpstream()
  t.teardown(() => Promise.all([world.close(), backend.close()]))
  const written = /```nginx\n([\s\S]*?)```/.exec(readFileSync('README.md', 'utf8'))![1]!
  const port = await freePort()
  const nginx = await runNginx(
    port,
    written
      .replace('listen 80;', `listen 127.0.0.1:${port};`)
      .replace('http://127.0.0.1:3000', backend.url)
      .replace('http://127.0.0.1:8081', world.internal),
  )
  t.teardown(() => nginx.stop())
  const url = `http://127.0.0.1:${port}`
  const { token } = (await world.operate('consumer', 'login', { user_id: '42' })).data

  t.equal((await call(url, { path: '/api/v1/c/orders?a=1', token })).status, 200)
  const [arrived] = backend.requests
  t.equal(arrived?.url, '/api/v1/c/orders?a=1')
  t.match(arrived?.headers, { 'x-login-id': '42', 'x-login-type': 'CONSUMER' })
  t.equal(arrived?.headers.authorization, undefined)

  t.equal((await call(url, { path: '/api/v1/c/orders' })).status, 401)
  t.equal((await call(url, { path: '/api/v1/orders', token })).status, 401)
  const forged = { 'x-forwarded-uri': '/api/v1/public/b/x', 'x-original-uri': '/api/v1/public/b/x', 'x-login-id': '1' }
  t.equal((await call(url, { path: '/api/v1/orders', token, headers: forged })).status, 401)
  t.equal((await call(url, { method: 'POST', path: '/api/v1/c/orders', token, body: { a: 1 } })).status, 200)
  t.equal((await call(url, { path: '/api/v1/public/b/x', headers: forged })).status, 200)
  t.equal(backend.requests.at(-1)?.headers['x-login-id'], undefined, 'nobody is named where nobody was asked for')
})
