import t, { type Test } from 'tap'
import { type Fixture, type FixtureOptions, openFixture } from '../support/gateway-fixture.ts'
import { open as openSocket } from '../support/websocket-sockets.ts'

/* Pages of other origins: once cors is configured, only the gateway decides which of them can read an answer. */

const ADMIN_PAGE = 'https://admin.example'
const SHOP_PAGE = 'https://shop.example:8443'
const CORS = { origin: [ADMIN_PAGE, SHOP_PAGE], credentials: true, exposedHeaders: ['X-Total'] }
const OPEN = '/api/v1/public/c/x'

/** Origins that resemble an allowed one. */
const FOREIGN = [
  'https://evil.example',
  'http://admin.example',
  'https://admin.example:443',
  'https://admin.example.evil.example',
  'https://evil.admin.example',
  'https://admin.example/',
  'HTTPS://ADMIN.EXAMPLE',
  `${ADMIN_PAGE}, https://evil.example`,
  'null',
  '*',
]

async function open(t: Test, options: FixtureOptions): Promise<Fixture> {
  const fixture = await openFixture(t, options)
  fixture.upstream.answer = (_request, response) => {
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('Access-Control-Allow-Credentials', 'true')
    response.setHeader('access-control-expose-headers', 'x-secret')
    response.setHeader('Access-Control-Max-Age', '86400')
    response.setHeader('access-control-allow-private-network', 'true')
    response.setHeader('vary', 'Accept-Language')
    response.setHeader('x-total', '7')
    response.end('ok')
  }
  return fixture
}

const corsOf = (headers: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))

const OURS = { 'access-control-allow-credentials': 'true', 'access-control-expose-headers': 'X-Total' }

t.test('only pages of the origins that are configured may read answers, whatever the upstream says', async t => {
  const fixture = await open(t, { config: { cors: CORS } })
  const token = await fixture.gateway.sides.consumer.login(undefined, 'u1')
  for (const path of [OPEN, '/api/v1/c/x', '/api/v1/public/b/captcha', '/api/v1/c/refused']) {
    const call = (origin: string) =>
      fixture.call({ path, headers: { origin }, ...(path === '/api/v1/c/x' && { token }) })
    for (const origin of CORS.origin) {
      const { headers } = await call(origin)
      t.same(corsOf(headers), { ...OURS, 'access-control-allow-origin': origin }, `${origin} at ${path}`)
      t.match(headers.vary, /\bOrigin\b/, 'caches keep the answers apart')
    }
    for (const origin of FOREIGN) t.same(corsOf((await call(origin)).headers), OURS, `${origin} at ${path}`)
  }
  const { headers } = await fixture.call({ path: OPEN, headers: { origin: ADMIN_PAGE } })
  t.match(headers, { vary: /Accept-Language/, 'x-total': '7' }, 'other headers of the upstream are passed on')
  const plain = await fixture.call({ path: OPEN })
  t.same(corsOf(plain.headers), OURS, 'a client that is no page is allowed nothing')
})

t.test('a preflight is answered for the origins that are configured, and for no other', async t => {
  const fixture = await open(t, { config: { cors: { ...CORS, methods: ['GET', 'PUT'], maxAge: 60 } } })
  const preflight = (origin: string) =>
    fixture.call({ method: 'OPTIONS', path: OPEN, headers: { origin, 'access-control-request-method': 'PUT' } })
  for (const origin of CORS.origin) {
    const { status, headers } = await preflight(origin)
    t.equal(status, 204)
    t.match(headers, { 'access-control-allow-origin': origin, 'access-control-allow-methods': 'GET, PUT' })
  }
  for (const origin of FOREIGN) t.notOk('access-control-allow-origin' in (await preflight(origin)).headers, origin)
  t.same(fixture.upstream.requests, [], 'no upstream is requested')
})

t.test('an ambiguous request is refused before its origin is checked', async t => {
  const fixture = await open(t, { config: { cors: CORS } })
  const headers = { origin: ADMIN_PAGE, 'access-control-request-method': 'GET' }
  const options = (path: string, more = {}) =>
    fixture.call({ method: 'OPTIONS', path, headers: { ...headers, ...more } })
  for (const path of ['//api/v1/c/x', '/api/v1/c/../sys/x', '/api/v1/%63/x'])
    t.equal((await options(path)).status, 400, path)
  t.equal((await options(OPEN, { host: 'a b' })).status, 400, 'an invalid host')
  t.equal((await options(OPEN, { expect: 'the-unexpected' })).status, 400, 'an unknown expectation')
})

t.test('a gateway with pages outside of /api starts with CORS, and decides about them in the same way', async t => {
  const origin = ADMIN_PAGE
  const fixture = await open(t, {
    config: { cors: CORS, gate: { pages: [{ path: '/wiki/*', needs: 'none' }] } },
    upstreams: [{ name: 'wiki', match: '/wiki', target: 'builtin:echo' }],
  })
  const preflight = { origin, 'access-control-request-method': 'PUT' }
  for (const path of ['/wiki/a', OPEN, '/docs', '/nowhere']) {
    const { status, headers } = await fixture.call({ method: 'OPTIONS', path, headers: preflight })
    t.equal(status, 204, path)
    t.match(headers, { 'access-control-allow-origin': origin }, path)
  }
  const put = await fixture.call({ method: 'PUT', path: '/wiki/a', headers: { origin } })
  t.match(put.json(), { method: 'PUT', url: '/wiki/a' })
  t.match(put.headers, { 'access-control-allow-origin': origin })
})

t.test('a page reads that it is not logged in, as it reads any answer', async t => {
  const fixture = await open(t, { config: { cors: CORS } })
  const { headers, text } = await fixture.call({ path: '/api/v1/c/x', headers: { origin: SHOP_PAGE } })
  t.match(JSON.parse(text), { code: 401, success: false })
  t.match(headers, { 'access-control-allow-origin': SHOP_PAGE })
})

t.test('an answer to a handshake has the same CORS headers as other answers', async t => {
  const fixture = await open(t, {
    config: { cors: { origin: [ADMIN_PAGE] } },
  })
  const live = await open(t, {
    config: {
      cors: { origin: [ADMIN_PAGE] },
      upstreams: [{ name: 'live', match: '/api', target: fixture.upstream.url, websocket: { origins: [SHOP_PAGE] } }],
    },
  })
  const { refused } = await openSocket(t, live.url, { path: OPEN, headers: { origin: SHOP_PAGE } })
  t.same(corsOf(refused!.headers), {})
  t.match(refused!.headers, { 'x-total': '7' }, 'it is the upstream that answered')
})

t.test('without the setting the upstream sends the CORS headers', async t => {
  const fixture = await open(t, {})
  const { headers } = await fixture.call({ path: OPEN, headers: { origin: FOREIGN[0]! } })
  t.match(corsOf(headers), { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'x-secret' })
})
