import t from 'tap'
import { type Answer, call } from '../support/client.ts'
import { openFixture, someone, withEveryStore } from '../support/gateway-fixture.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { openEnd, refusalOf, startSocketUpstream } from '../support/websocket-sockets.ts'

/* Sessions in cookies: how they begin and end, and which requests they prove. */

const B = '__Host-dualgate-b'
const C = '__Host-dualgate-c'
const SAME = { 'sec-fetch-site': 'same-origin' }
const LOGIN = '/api/v1/public/b/login'

const OPTIONS = {
  config: {
    browser: { business: 'on', consumer: 'on', origins: ['https://allowed.example'] },
    gate: {
      pages: [
        { path: '/wiki/*', needs: 'business' },
        { path: '/shop/*', needs: 'consumer' },
        { path: '/either', needs: 'either' },
        { path: '/*', needs: 'none' },
      ],
    },
    sessions: { tell_end: '1h' },
  },
  upstreams: [
    { name: 'told', match: '/told', target: 'builtin:echo', identity: { optional: true } },
    { name: 'site', match: '/', target: 'builtin:echo' },
  ],
}

const setCookiesOf = ({ headers }: Answer): readonly string[] => headers['set-cookie'] ?? []
const tokenIn = (cookie: string): string => /=([^;]*)/.exec(cookie)![1]!

withEveryStore(
  t,
  async (t, fixture) => {
    const { business, consumer } = fixture.gateway.sides
    const login = async (fields: object = { session: 'cookie' }, headers: Record<string, string> = SAME) =>
      fixture.call({ method: 'POST', path: LOGIN, headers, body: { ...(await fixture.credentials()), ...fields } })
    const send = (path: string, cookie: string, rest: { method?: string; headers?: Record<string, string> } = {}) =>
      fixture.call({ path, ...rest, headers: { cookie, ...rest.headers } })
    /** Which user an upstream was told, or the code of the refusal. */
    const told = async (...request: Parameters<typeof send>): Promise<string> => {
      const json = (await send(...request)).json()
      return json.code === undefined ? (json.headers['x-login-id'] ?? 'no user') : String(json.code)
    }

    t.test('a login may ask for its session in a cookie, and gets no token', async t => {
      const answer = await login()
      t.same(answer.json().data, { cookie: B, expires_in: 2_592_000 })
      const [cookie = ''] = setCookiesOf(answer)
      t.match(
        cookie,
        /^__Host-dualgate-b=[\w-]+\.[\w-]+\.[\w-]+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      )
      t.equal(await told('/wiki/a', `${B}=${tokenIn(cookie)}`), '1')
      t.equal(await told('/api/v1/anything', `${B}=${tokenIn(cookie)}`).catch(() => 'recorded'), 'recorded')
    })

    t.test('a login that asks for nothing gets its token, as ever', async t => {
      for (const session of [undefined, null]) {
        const answer = await login({ session })
        t.match(answer.json().data, { token: /\./, token_name: 'Authorization' })
        t.same(setCookiesOf(answer), [])
      }
    })

    t.test('a page of another origin cannot sign its visitor in, and uses up no captcha', async t => {
      const body = { ...(await fixture.credentials()), session: 'cookie' }
      for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, {}])
        t.match((await fixture.call({ method: 'POST', path: LOGIN, headers, body })).json(), {
          code: 403,
          success: false,
        })
      const allowed = { 'sec-fetch-site': 'cross-site', origin: 'https://allowed.example' }
      t.equal((await fixture.call({ method: 'POST', path: LOGIN, headers: allowed, body })).json().code, 200)
    })

    t.test('each side has its cookie, and the path decides which one is read', async t => {
      const [worker, customer] = [someone(), someone()]
      const b = await business.login(undefined, worker)
      const c = await consumer.login(undefined, customer)
      const both = `${C}=${c}; a=1; ${B}=${b}`
      t.equal(await told('/wiki/a', both), worker)
      t.equal(await told('/shop/a', both), customer)
      t.equal(await told('/either', both), worker, 'the B side first')
      t.equal(await told('/either', `${C}=${c}; ${B}=no.such.token`), customer)
      t.equal(await told('/', both), 'no user')
      t.equal(await told('/told', both), worker)
      t.equal(await told('/wiki/a', `${B}=${c}; ${C}=${b}`), '401', 'the token of the other side')
      t.equal(await told('/wiki/a', `${C}=${b}`), '401')
      t.equal(await told('/wiki/a', `dualgate-b=${b}; __Secure-dualgate-b=${b}`), '401', 'the name of other settings')
    })

    t.test('one credential counts: with a token header, even an invalid one, cookies are ignored', async t => {
      const [inCookie, inHeader] = [someone(), someone()]
      const cookie = `${B}=${await business.login(undefined, inCookie)}`
      const token = await business.login(undefined, inHeader)
      t.equal(await told('/wiki/a', cookie, { headers: { authorization: `Bearer ${token}` } }), inHeader)
      t.equal(await told('/wiki/a', cookie, { headers: { authorization: 'Bearer no.such.token' } }), '401')
      t.equal(await told('/wiki/a', cookie, { headers: { authorization: 'no.such.token' } }), '401')
      t.equal((await send('/api/v1/b/x', cookie, { headers: { authorization: 'Basic YTpi' } })).json().code, 401)
      const basic = (await send('/wiki/a', cookie, { headers: { authorization: 'Basic YTpi' } })).json().headers
      t.match(basic, { 'x-login-id': inCookie, authorization: 'Basic YTpi' }, 'the authorization of an application')
    })

    t.test('two cookies of one name are refused', async t => {
      const token = await business.login(undefined, someone())
      const twice = `${B}=${token}; ${B}=${token}`
      t.match((await send('/wiki/a', twice)).json(), {
        code: 401,
        message: `Two cookies ${B}: delete the cookies of this site`,
      })
      t.equal(await told('/told', twice), 'no user', 'where no session is needed')
      const c = await consumer.login(undefined, someone())
      t.equal((await send('/shop/a', `${twice}; ${C}=${c}`)).status, 200, 'of the other side')
    })

    t.test('a write of a page of another origin is refused before its body is read', async t => {
      const user = someone()
      const cookie = `${B}=${await business.login(undefined, user)}`
      const posted = (headers: Record<string, string>, method = 'POST') => told('/wiki/a', cookie, { method, headers })
      t.equal(await posted(SAME), user)
      t.equal(await posted({ 'sec-fetch-site': 'none' }), user)
      t.equal(await posted({ origin: fixture.url }), user)
      t.equal(await posted({ 'sec-fetch-site': 'cross-site', origin: 'https://allowed.example' }), user)
      const foreign = [
        { 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': 'cross-site' },
        { origin: 'null' },
        { origin: 'https://evil.example' },
        {},
      ]
      for (const headers of foreign)
        for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
          t.equal(await posted(headers as Record<string, string>, method), '403')
      for (const method of ['GET', 'OPTIONS']) t.not(await posted({ 'sec-fetch-site': 'cross-site' }, method), '403')
      const unread = await send('/wiki/a', cookie, {
        method: 'POST',
        headers: { 'content-length': '1000000', origin: 'null' },
      })
      t.match([unread.status, unread.json()], [403, { code: 403, success: false }])
      t.equal(await told('/told', cookie, { method: 'POST', headers: { 'sec-fetch-site': 'cross-site' } }), 'no user')
      t.equal((await send('/api/v1/b/logout', cookie, { method: 'POST' })).json().code, 403)
      t.equal(await told('/wiki/a', cookie), user, 'the session lives on')
    })

    t.test('a logout by cookie ends the session and removes the cookie; a copy of it proves nothing', async t => {
      const [set = ''] = setCookiesOf(await login())
      const cookie = `${B}=${tokenIn(set)}`
      const answer = await send('/api/v1/b/logout', cookie, { method: 'POST', headers: SAME })
      t.equal(answer.json().code, 200)
      t.same(setCookiesOf(answer), [`${B}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax; Secure`])
      t.match((await send('/wiki/a', cookie)).json(), { code: 401, data: { ended: 'logged-out' } })
      const byToken = await fixture.post('/api/v1/b/logout', {}, await business.login(undefined, someone()))
      t.same(setCookiesOf(byToken), [], 'a logout by token sets none')
    })

    t.test(
      'a copied cookie is refused with the next request after a kickout, and signing in reuses no token',
      async t => {
        const user = someone()
        const token = await business.login(undefined, user)
        t.equal(await told('/wiki/a', `${B}=${token}`), user)
        await business.kickout(user)
        t.match((await send('/wiki/a', `${B}=${token}`)).json(), { code: 401, data: { ended: 'kicked-out' } })
        const live = await business.login(undefined, user)
        const [set = ''] = setCookiesOf(await login(undefined, { ...SAME, cookie: `${B}=${live}` }))
        t.not(tokenIn(set), live)
      },
    )

    t.test('session cookies never reach an upstream, on open and public paths neither', async t => {
      const token = await business.login(undefined, someone())
      const cookies = `a=1; ${B}=${token}; dualgate-c=${token}; xdualgate-b=2`
      for (const path of ['/', '/wiki/a', '/told'])
        t.equal((await send(path, cookies)).json().headers.cookie, 'a=1; xdualgate-b=2', path)
      await send('/api/v1/public/c/x', cookies)
      await send('/api/v1/x', cookies)
      for (const { headers } of fixture.upstream.requests.slice(-2)) t.equal(headers.cookie, 'a=1; xdualgate-b=2')
    })
  },
  OPTIONS,
)

t.test('a renewal sends the cookie again, with its new age', async t => {
  const config = {
    browser: { business: 'on' },
    sessions: { auto_renew: '1m' },
    gate: { pages: [{ path: '/wiki/*', needs: 'business' }] },
  }
  const backend = await startUpstream({
    answer: (_request, response) => response.writeHead(200, { 'Cache-Control': 'public, max-age=3600' }).end(),
  })
  t.teardown(() => backend.close())
  const fixture = await openFixture(t, {
    config,
    upstreams: [
      { name: 'files', match: '/wiki/files', target: backend.url },
      { name: 'wiki', match: '/wiki', target: 'builtin:echo' },
    ],
  })
  const token = await fixture.gateway.sides.business.login(undefined, someone())
  const ask = (path: string) => fixture.call({ path, headers: { cookie: `${B}=${token}` } })
  t.same(setCookiesOf(await ask('/wiki/a')), [], 'not with every request')
  await fixture.elapse(61_000)
  const renewed = `${B}=${token}; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax; Secure`
  t.same(setCookiesOf(await ask('/wiki/a')), [renewed])
  t.same(setCookiesOf(await ask('/wiki/a')), [])
  t.equal((await ask('/wiki/files/a')).headers['cache-control'], 'public, max-age=3600')
  await fixture.elapse(61_000)
  const kept = await ask('/wiki/files/a')
  t.same(setCookiesOf(kept), [renewed])
  t.equal(kept.headers['cache-control'], 'public, max-age=3600, private', 'in no shared cache')
  await fixture.elapse(61_000)
  t.same(setCookiesOf(await ask('/api/v1/b/session/tokens')), [renewed], 'by a route of the gateway, too')
  await fixture.elapse(61_000)
  t.same(setCookiesOf(await fixture.get('/wiki/a', token)), [], 'not to a client with a token')
  await fixture.elapse(61_000)
  t.same(setCookiesOf(await ask('/sign-in/b/session')), [renewed])
  await fixture.elapse(61_000)
  const verified = (headers: Record<string, string>) => call(fixture.internal, { path: '/verify/wiki/a', headers })
  t.same(setCookiesOf(await verified({ cookie: `${B}=${token}` })), [renewed], 'for a proxy to pass on')
  await fixture.elapse(61_000)
  t.same(setCookiesOf(await verified({ authorization: `Bearer ${token}` })), [])
})

t.test('where a side has no cookies, none is read, and a login cannot ask for one', async t => {
  const fixture = await openFixture(t, { config: { browser: { consumer: 'on' } } })
  const token = await fixture.gateway.sides.business.login(undefined, someone())
  const answer = await fixture.call({ path: '/api/v1/b/x', headers: { cookie: `${B}=${token}` } })
  t.equal(answer.json().code, 401)
  const refused = await fixture.post(LOGIN, { ...(await fixture.credentials()), session: 'cookie' })
  t.match(refused.json(), {
    code: 400,
    message: 'session: must be left out: sessions of this side are not kept in cookies',
  })
})

t.test('where either side will do, a disabled login id of one side leaves the session of the other', async t => {
  const fixture = await openFixture(t, {
    config: { ...OPTIONS.config, disable: { enforce: 'request' } },
    upstreams: OPTIONS.upstreams,
  })
  const { business, consumer } = fixture.gateway.sides
  const [worker, customer] = [someone(), someone()]
  const b = `${B}=${await business.login(undefined, worker)}`
  const c = `${C}=${await consumer.login(undefined, customer)}`
  await business.disable(worker, 60)
  const ask = async (cookie: string) => (await fixture.call({ path: '/either', headers: { cookie } })).json()
  t.match(await ask(`${b}; ${c}`), { headers: { 'x-login-id': customer } })
  t.match(await ask(b), { code: 403 })
  t.match(await ask(`${b}; ${C}=no.such.token`), { code: 403 })
})

t.test('a WebSocket by cookie is opened by the pages of this origin, and by those that are allowed', async t => {
  const backend = await startSocketUpstream(t)
  const fixture = await openFixture(t, {
    config: { browser: { business: 'on' }, gate: { pages: [{ path: '/live/*', needs: 'business' }] } },
    upstreams: [{ name: 'live', match: '/live', target: backend.url, websocket: {} }],
  })
  const user = someone()
  const cookie = `${B}=${await fixture.gateway.sides.business.login(undefined, user)}`
  const open = (headers: Record<string, string>, path = '/live/x') => ({ path, headers: { cookie, ...headers } })
  for (const headers of [{}, { origin: 'https://evil.example' }, { 'sec-fetch-site': 'same-site' }])
    t.equal(await refusalOf(t, fixture.url, open(headers as Record<string, string>)), 403)
  await openEnd(t, fixture.url, open({ origin: fixture.url }))
  const [handshake] = backend.handshakes
  t.match(handshake!.headers, { 'x-login-id': user })
  t.equal(handshake!.headers.cookie, undefined)
  t.equal(
    await refusalOf(t, fixture.url, open({ origin: fixture.url }, '/live/x?token=no.such.token')),
    401,
    'a token beside it',
  )
})

t.test('a backend that signs consumers in hands their session over, and the client gets it as a cookie', async t => {
  const backend = await startUpstream()
  t.teardown(() => backend.close())
  const fixture = await openFixture(t, {
    config: {
      browser: { consumer: 'on', origins: ['https://shop.example'] },
      gate: {
        pages: [
          { path: '/shop/*', needs: 'none' },
          { path: '/blog/*', needs: 'none' },
        ],
      },
    },
    upstreams: [
      { name: 'shop', match: '/shop', target: backend.url, signs_in: 'consumer' },
      { name: 'blog', match: '/blog', target: backend.url },
    ],
  })
  const { business, consumer } = fixture.gateway.sides
  /** The answer of the backend with these values of its header, as the client gets it. */
  async function answered(path: string, values: string | string[], body = 'welcome') {
    backend.answer = (_request, response) => {
      response.setHeader('X-Dualgate-Session', values)
      response.setHeader('Set-Cookie', 'basket=1')
      response.end(body)
    }
    const answer = await fixture.get(path)
    t.notOk(answer.headers['x-dualgate-session'])
    return { ...answer, cookies: setCookiesOf(answer) }
  }
  const logged = (text: string): boolean => fixture.log.some(line => line.includes(text))

  const user = someone()
  const token: string = (await fixture.operate('consumer', 'login', { user_id: user, seconds: 600 })).data.token
  const long = 'x'.repeat(3_000_000)
  for (const body of ['', 'welcome', long]) {
    const { status, text, cookies } = await answered('/shop/login', token, body)
    t.match([status, text.length], [200, body.length])
    t.same(cookies, ['basket=1', `${C}=${token}; Max-Age=600; Path=/; HttpOnly; SameSite=Lax; Secure`])
  }
  // An answer that cannot be passed on is a failure of the backend, and of nothing else.
  backend.take = (_request, response) => {
    response.socket!.end(`HTTP/1.1 200 OK\r\nX-Dualgate-Session: ${token}\r\nTransfer-Encoding: identity\r\n\r\n`)
  }
  t.equal((await fixture.get('/shop/login')).status, 502)
  backend.take = null

  // A form of another page would give its visitor the session of whoever wrote that page.
  const sent = async (headers: Record<string, string>) => {
    const answer = await fixture.call({ method: 'POST', path: '/shop/login', headers, body: '{}' })
    return [answer.status, setCookiesOf(answer).filter(cookie => cookie.startsWith(C)).length]
  }
  t.same(await sent({ 'sec-fetch-site': 'same-origin' }), [200, 1])
  t.same(await sent({ origin: 'https://shop.example', 'sec-fetch-site': 'cross-site' }), [200, 1])
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, {}] as Record<
    string,
    string
  >[])
    t.same(await sent(headers), [403, 0])

  await consumer.kickout(user)
  const other = await business.login(undefined, user)
  for (const values of [token, other, 'no.such.token', 'x', [other, other]])
    t.same((await answered('/shop/login', values)).cookies, ['basket=1'], 'no live session of the side')
  t.ok(logged('X-Dualgate-Session names no live session'))
  t.notOk(logged('it has no signs_in'))
  const live: string = (await fixture.operate('consumer', 'login', { user_id: user })).data.token
  t.same((await answered('/blog/a', live)).cookies, ['basket=1'], 'of another upstream')
  t.ok(logged('it has no signs_in'))
})

t.test(
  'an answer with a session that breaks off is refused once, without its cookie',
  { skip: withoutRedis },
  async t => {
    const backend = await startUpstream()
    t.teardown(() => backend.close())
    const fixture = await openFixture(t, {
      store: 'redis',
      config: { browser: { consumer: 'on' }, gate: { pages: [{ path: '/shop/*', needs: 'none' }] } },
      upstreams: [{ name: 'shop', match: '/shop', target: backend.url, signs_in: 'consumer', retries: 3 }],
    })
    const token = await fixture.gateway.sides.consumer.login(undefined, someone())
    let asked = 0
    const head = `HTTP/1.1 200 OK\r\nX-Dualgate-Session: ${token}\r\n`
    backend.take = (_request, response) => {
      asked++
      response.socket!.write(`${head}Content-Length: 10\r\n\r\nwel`)
      setTimeout(() => response.socket!.destroy(), 50)
    }
    fixture.redis!.pause()
    const broken = await fixture.get('/shop/login')
    fixture.redis!.resume()
    t.match([broken.status, asked, broken.headers['set-cookie']], [502, 1, undefined])
    // Whole, before its session is known: the connection serves others from then on.
    backend.take = (_request, response) => {
      asked++
      response.socket!.write(`${head}Content-Length: 7\r\n\r\nwelcome`)
    }
    fixture.redis!.pause()
    const waiting = fixture.get('/shop/login')
    await until(() => asked === 2)
    fixture.redis!.resume()
    const { status, text, headers } = await waiting
    t.match([status, text, headers['set-cookie']?.length], [200, 'welcome', 1])
  },
)
