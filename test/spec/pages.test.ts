import t from 'tap'
import { call } from '../support/client.ts'
import { openFixture, someone, withEveryStore } from '../support/gateway-fixture.ts'
import { heard } from '../support/websocket-fixture.ts'
import { openEnd, refusalOf, startSocketUpstream } from '../support/websocket-sockets.ts'

/* Rule 7: an application outside of /api, behind the same gate as every API. */

const PAGES = [
  { path: '/wiki/assets/*', needs: 'none' },
  { path: '/wiki/*', needs: 'business' },
  { path: '/shop/*', methods: ['GET'], needs: 'consumer' },
  { path: '/either', needs: 'either' },
  { path: '/*', needs: 'none' },
]

const UPSTREAMS = [
  { name: 'wiki', match: '/wiki', target: 'builtin:echo', permission: 'wiki:read', rewrite: '/' },
  { name: 'shop', match: '/shop', target: 'builtin:echo' },
  { name: 'site', match: '/', target: 'builtin:echo' },
]

withEveryStore(
  t,
  async (t, fixture) => {
    const { business, consumer } = fixture.gateway.sides
    const [writer, reader, customer] = [someone(), someone(), someone()]
    const w = await business.login(undefined, writer, { permissions: ['wiki:read'] })
    const r = await business.login(undefined, reader)
    const c = await consumer.login(undefined, customer)

    /** Which upstream answers as whom, or the code of the refusal. */
    const outcome = async (path: string, token?: string, method = 'GET'): Promise<string> => {
      const before = fixture.log.length
      const answer = await fixture.call({ method, path, ...(token !== undefined && { token }) })
      const line = fixture.log
        .slice(before)
        .map(text => JSON.parse(text))
        .find(({ msg }) => msg === 'request')
      if (answer.status !== 200 || answer.json().code !== undefined) return String(answer.json().code)
      const { url, headers } = answer.json()
      return [
        line.upstream,
        `rule ${line.rule}`,
        url,
        headers['x-login-type'] ?? '-',
        headers['x-login-id'] ?? '-',
      ].join(' ')
    }

    t.test('a page passes with the session that it needs, and its upstream gets the identity', async t => {
      t.equal(await outcome('/wiki/a?b=%2F', w), `wiki rule 7 /a?b=%2F BUSINESS ${writer}`)
      t.equal(await outcome('/wiki', w), `wiki rule 7 / BUSINESS ${writer}`)
      t.equal(await outcome('/wiki/a', w, 'POST'), `wiki rule 7 /a BUSINESS ${writer}`)
      t.equal(await outcome('/shop/a', c), `shop rule 7 /shop/a CONSUMER ${customer}`)
      t.equal(await outcome('/either', c), `site rule 7 /either CONSUMER ${customer}`)
      t.equal(await outcome('/either', r), `site rule 7 /either BUSINESS ${reader}`)
    })

    t.test('a page without its session is refused, whatever its spelling', async t => {
      for (const path of ['/wiki', '/wiki/a', '/WIKI/a', '/Wiki/']) {
        t.equal(await outcome(path), '401', path)
        t.equal(await outcome(path, c), '401', path)
      }
      t.equal(await outcome('/WIKI/a', w), '404', 'its upstream has another spelling, and another one must not get it')
      t.equal(await outcome('/shop/a', w), '401')
      t.equal(await outcome('/wiki/a', r), '403', 'without the permission of the upstream')
      for (const path of ['/wiki/../a', '/wiki//a', '/wiki/%61', '/x/..%2fwiki/a'])
        t.equal(await outcome(path, w), '400', path)
    })

    t.test('where a page needs no session, none is read and no identity is sent', async t => {
      t.equal(await outcome('/', w), 'site rule 7 / - -')
      t.equal(await outcome('/index.html', 'no.such.token'), 'site rule 7 /index.html - -')
    })

    t.test('an identity of the client never reaches the upstream of a page', async t => {
      const headers = { 'x-login-id': '1', 'X-Login-Type': 'BUSINESS', x_login_id: '1' }
      const { json } = await fixture.call({ path: '/', headers })
      t.notMatch(JSON.stringify(json().headers), /login/i)
    })

    t.test('a method that a page does not name is decided by the next one', async t => {
      t.equal(await outcome('/shop/a', undefined, 'POST'), 'shop rule 7 /shop/a - -')
    })

    t.test('the paths of the gateway and of the API stay what they are', async t => {
      t.equal((await fixture.get('/docs')).status, 200)
      t.match((await fixture.get('/docs')).text, /swagger/i)
      t.equal((await fixture.call({ method: 'POST', path: '/docs' })).status, 405)
      for (const path of ['/docs/x', '/DOCS', '/API/v1/c/x', '/api', '/api/x', '/sign-in/b/', '/Console/'])
        t.equal(await outcome(path), '404', path)
      t.equal(await outcome('/api/v1/c/x'), '401')
      await fixture.get('/api/v1/c/x', c)
      t.equal(fixture.upstream.requests.at(-1)!.url, '/api/v1/c/x')
      t.match((await fixture.get('/favicon.ico')).headers['content-type'], /^image/)
    })

    t.test('/verify decides the same way', async t => {
      const verify = async (path: string, token?: string): Promise<string | number> => {
        const { status, headers } = await call(fixture.internal, {
          path: `/verify${path}`,
          ...(token !== undefined && { token }),
        })
        return status === 200 ? `${headers['x-login-type'] ?? ''} ${headers['x-login-id'] ?? ''}`.trim() : status
      }
      t.equal(await verify('/wiki/a', w), `BUSINESS ${writer}`)
      t.equal(await verify('/wiki/a', r), 403)
      t.equal(await verify('/wiki/a', c), 401)
      t.equal(await verify('/WIKI/a'), 401)
      t.equal(await verify('/WIKI/a', w), 403)
      t.equal(await verify('/index.html'), '')
      t.equal(await verify('/API/v1/c/x'), 403)
    })
  },
  { config: { gate: { pages: PAGES } }, upstreams: UPSTREAMS },
)

t.test('a path that no page covers is not found, and its OPTIONS is not forwarded', async t => {
  const fixture = await openFixture(t, {
    config: { gate: { pages: [{ path: '/wiki/*', needs: 'none' }] } },
    upstreams: [{ name: 'site', match: '/', target: 'builtin:echo' }],
  })
  t.equal((await fixture.get('/wiki/a')).json().url, '/wiki/a')
  t.equal((await fixture.call({ method: 'OPTIONS', path: '/wiki/a' })).status, 200)
  for (const method of ['GET', 'POST', 'OPTIONS'])
    t.equal((await fixture.call({ method, path: '/elsewhere' })).status, 404, method)
})

t.test('a WebSocket of a page opens with the session that the page needs', async t => {
  const backend = await startSocketUpstream(t)
  const fixture = await openFixture(t, {
    config: { gate: { pages: [{ path: '/live', needs: 'consumer' }] } },
    upstreams: [{ name: 'live', match: '/live', target: backend.url, websocket: {} }],
  })
  const user = someone()
  const token = await fixture.gateway.sides.consumer.login(undefined, user)
  const end = await openEnd(t, fixture.url, { path: '/live', token })
  end.send('hello')
  await heard(end, 'echo: hello')
  t.match(backend.handshakes[0]!.headers, { 'x-login-id': user, 'x-login-type': 'CONSUMER' })
  t.equal(await refusalOf(t, fixture.url, { path: '/live' }), 401)
  t.equal(backend.handshakes.length, 1)
})
