import { METHODS as PARSED } from 'node:http'
import t, { type Test } from 'tap'
import { type Answer, call } from '../support/client.ts'
import { type Fixture, type FixtureOptions, openFixture, someone } from '../support/gateway-fixture.ts'

/* What becomes of a path of our own with another method. */

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
/** The parser of the oldest versions of Node does not know QUERY. */
const UNKNOWN = ['QUERY', 'TRACE', 'PROPFIND', 'PURGE', 'M-SEARCH'].filter(is => PARSED.includes(is))

async function open(t: Test, options: FixtureOptions = {}): Promise<Fixture> {
  const fixture = await openFixture(t, {
    profile: 2,
    ...options,
    config: { session_administration: true, ...options.config },
  })
  return fixture
}

/** The paths of a listener's document, and its methods: HEAD stands beside GET, OPTIONS beside all. */
async function documented(base: string): Promise<[path: string, allowed: string[]][]> {
  const { paths } = (await call(base, { path: '/openapi.json' })).json()
  return Object.entries<object>(paths)
    .filter(([path]) => path !== '/verify')
    .map(([path, item]) => {
      const named = Object.keys(item).map(method => method.toUpperCase())
      return [path, METHODS.filter(is => is === 'OPTIONS' || named.includes(is === 'HEAD' ? 'GET' : is))]
    })
}

function expectRefusal(t: Test, answer: Answer, allowed: readonly string[], method: string, path: string): void {
  t.equal(answer.status, 405, `${method} ${path}`)
  t.equal(answer.headers.allow, allowed.join(', '))
  if (method !== 'HEAD') t.match(answer.json(), { code: 405, success: false, data: null })
}

t.test('a path of the public listener’s own', async t => {
  const fixture = await open(t)
  const { business, consumer } = fixture.gateway.sides
  const tokenFor = (path: string): Promise<string> =>
    (path.endsWith('/c/logout') ? consumer : business).login(undefined, someone(), { roles: ['SUPER_ADMIN'] })
  const own = await documented(fixture.url)
  const paths: typeof own = [...own, ['/docs', ['GET', 'HEAD', 'OPTIONS']], ['/console/', ['GET', 'HEAD', 'OPTIONS']]]

  t.test('is 405 with Allow for every other method, and is never forwarded', async t => {
    t.ok(own.length > 20)
    for (const [path, allowed] of paths) {
      for (const method of METHODS.filter(is => !allowed.includes(is))) {
        expectRefusal(t, await fixture.call({ method, path, token: await tokenFor(path) }), allowed, method, path)
      }
    }
    t.same(fixture.upstream.requests, [])
  })

  t.test('answers OPTIONS itself, with Allow and to every client', async t => {
    for (const [path, allowed] of paths) {
      const { status, headers, text } = await fixture.call({ method: 'OPTIONS', path })
      t.same([status, headers.allow, text], [204, allowed.join(', '), ''], path)
    }
    t.same(fixture.upstream.requests, [])
  })

  t.test('answers HEAD as GET, without the body', async t => {
    for (const [path, allowed] of paths.filter(([, allowed]) => allowed.includes('HEAD'))) {
      const token = await tokenFor(path)
      const target = /tokens|disabled/.test(path) ? `${path}?user_id=1` : path
      const [head, get] = [
        await fixture.call({ method: 'HEAD', path: target, token }),
        await fixture.call({ method: 'GET', path: target, token }),
      ]
      t.same([head.status, head.text], [get.status, ''], `${path} ${allowed}`)
      t.equal(head.headers['content-type'], get.headers['content-type'], path)
    }
    t.same(fixture.upstream.requests, [])
  })

  t.test('requires its session first: without one there is no 405, and nothing happens', async t => {
    for (const [path, allowed] of own.filter(([path]) => !path.includes('/public/'))) {
      for (const method of METHODS.filter(is => !allowed.includes(is))) {
        const { status, headers } = await fixture.call({ method, path })
        t.same([status, headers.allow], [200, undefined], `${method} ${path}`)
        if (method !== 'HEAD') t.match((await fixture.call({ method, path })).json(), { code: 401 })
      }
    }
    t.same(fixture.upstream.requests, [])
  })

  t.test('is 405 with Allow for methods that are served nowhere', async t => {
    for (const method of UNKNOWN) {
      for (const [path, allowed] of paths) expectRefusal(t, await fixture.call({ method, path }), allowed, method, path)
      const elsewhere = await fixture.call({ method, path: '/api/v1/c/x' })
      expectRefusal(t, elsewhere, METHODS, method, '/api/v1/c/x')
    }
    t.same(fixture.upstream.requests, [])
  })
})

t.test('with cors on, a preflight is answered and has Allow, and other paths are as before', async t => {
  const origin = 'https://admin.example'
  const fixture = await open(t, { config: { cors: { origin: [origin] } } })
  const path = '/api/v1/sys/session/exit'
  const preflight = { origin, 'access-control-request-method': 'POST' }
  const allowed = await fixture.call({ method: 'OPTIONS', path, headers: preflight })
  t.match(allowed, { status: 204, headers: { allow: 'POST, OPTIONS', 'access-control-allow-origin': origin } })
  const foreign = { ...preflight, origin: 'https://evil.example' }
  const refused = await fixture.call({ method: 'OPTIONS', path, headers: foreign })
  t.match(refused, { status: 204, headers: { allow: 'POST, OPTIONS' } })
  t.not(refused.headers['access-control-allow-origin'], foreign.origin)
  const upstream = await fixture.call({ method: 'OPTIONS', path: '/api/v1/c/x', headers: preflight })
  t.match(upstream, { status: 204, headers: { allow: undefined, 'access-control-allow-origin': origin } })
  const token = await fixture.gateway.sides.business.login(undefined, someone())
  const other = await fixture.call({ method: 'PUT', path, token, headers: { origin } })
  t.match(other, { status: 405, headers: { allow: 'POST, OPTIONS', 'access-control-allow-origin': origin } })
  t.same(fixture.upstream.requests, [])
})

t.test('an upstream that matches a path of our own gets what lies below it, and never the path itself', async t => {
  const logout = '/api/v1/b/logout'
  const fixture = await open(t, {
    upstreams: [{ name: 'echo', match: logout, target: 'builtin:echo' }],
  })
  const below = await fixture.call({ method: 'OPTIONS', path: `${logout}/x` })
  t.match(below.json(), { method: 'OPTIONS', url: `${logout}/x` })
  t.match(await fixture.call({ method: 'OPTIONS', path: logout }), { status: 204, headers: { allow: 'POST, OPTIONS' } })
  const token = await fixture.gateway.sides.business.login(undefined, someone())
  t.match((await fixture.call({ method: 'POST', path: logout, token })).json(), { code: 200, success: true })
})

t.test('Allow below the match of an upstream comes from the upstream', async t => {
  const fixture = await open(t, {
    upstreams: [{ name: 'echo', match: '/api/v1/c/orders', target: 'builtin:echo' }],
    config: { cors: { origin: ['https://office.example'] } },
  })
  for (const path of ['/api/v1/c/orders', '/api/v1/c/orders/', '/api/v1/c/orders/7']) {
    const { status, headers } = await fixture.call({ method: 'OPTIONS', path })
    t.same([status, headers.allow], [204, undefined], path)
  }
})

t.test('a path of the internal listener', async t => {
  const fixture = await open(t)
  const token = fixture.settings.internal.secret
  const own = await documented(fixture.internal)
  t.ok(own.length > 40)

  t.test('is 405 with Allow for every other method, and OPTIONS is 204', async t => {
    for (const [path, allowed] of own) {
      for (const method of [...METHODS.filter(is => !allowed.includes(is)), ...UNKNOWN]) {
        expectRefusal(t, await call(fixture.internal, { method, path, token }), allowed, method, path)
      }
      const { status, headers } = await call(fixture.internal, { method: 'OPTIONS', path, token })
      t.same([status, headers.allow], [204, allowed.join(', ')], path)
    }
  })

  t.test('requires the secret first', async t => {
    const path = '/operations/v1/business/kickout'
    for (const method of ['GET', 'PUT', 'OPTIONS'])
      t.equal((await call(fixture.internal, { method, path })).status, 401, method)
  })

  t.test('answers HEAD as GET, without the body', async t => {
    for (const path of ['/livez', '/readyz', '/metrics', '/openapi.json'])
      t.match(await call(fixture.internal, { method: 'HEAD', path }), { status: 200, text: '' }, path)
  })

  t.test('/verify decides over every method', async t => {
    for (const method of METHODS)
      t.equal((await call(fixture.internal, { method, path: '/verify/api/v1/public/b/x' })).status, 200, method)
  })
})
