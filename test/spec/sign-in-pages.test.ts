import { join } from 'node:path'
import t from 'tap'
import type { Answer } from '../support/client.ts'
import { openFixture, someone, withEveryStore } from '../support/gateway-fixture.ts'
import { withoutRedis } from '../support/redis-server.ts'

/* The way to a page without a session, and the way out: what browsers and programs are answered. */

const B = '__Host-dualgate-b'
const SAME = { 'sec-fetch-site': 'same-origin' }
const NAVIGATION = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' }

const OPTIONS = {
  config: {
    browser: { business: 'on' },
    gate: {
      pages: [
        { path: '/wiki/*', needs: 'business' },
        { path: '/shop/*', needs: 'consumer' },
        { path: '/either', needs: 'either' },
      ],
    },
    sessions: { tell_end: '1h' },
  },
  upstreams: [{ name: 'site', match: '/', target: 'builtin:echo' }],
}

/** A status, and where it leads or what it is. */
const shape = ({ status, headers }: Answer): string =>
  `${status} ${headers.location ?? String(headers['content-type']).split(';')[0]}`

withEveryStore(
  t,
  async (t, fixture) => {
    const { business } = fixture.gateway.sides
    const get = (path: string, headers: Record<string, string>, method = 'GET') =>
      fixture.call({ method, path, headers })

    t.test('a navigation to a page without its session leads to the sign-in of the side', async t => {
      const answer = await get('/wiki/a%20b?c=%2F&d=e', NAVIGATION)
      t.equal(shape(answer), '303 /sign-in/b/?to=%2Fwiki%2Fa%2520b%3Fc%3D%252F%26d%3De')
      t.equal(answer.headers['cache-control'], 'no-store')
      t.notOk(answer.headers['www-authenticate'])
      t.equal(shape(await get('/either', NAVIGATION)), '303 /sign-in/b/?to=%2Feither')
      t.equal(shape(await get('/wiki/a', NAVIGATION, 'HEAD')), '303 /sign-in/b/?to=%2Fwiki%2Fa')
      t.equal(shape(await get('/shop/a', NAVIGATION)), '401 application/json', 'a side without cookies')
      const byWorker = { ...NAVIGATION, 'sec-fetch-dest': 'empty', accept: 'text/html,*/*;q=0.8' }
      t.equal(shape(await get('/wiki/a', byWorker)), '303 /sign-in/b/?to=%2Fwiki%2Fa', 'through a service worker')
      const plain = { accept: 'text/html,application/xhtml+xml' }
      t.equal(shape(await get('/wiki/a', plain)), '303 /sign-in/b/?to=%2Fwiki%2Fa', 'over plain HTTP')
      const forged = {
        ...NAVIGATION,
        host: 'evil.example',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-uri': '/x',
      }
      t.equal(
        shape(await get('/wiki/a', forged)),
        '303 /sign-in/b/?to=%2Fwiki%2Fa',
        'nothing of the client but its path',
      )
    })

    t.test('a navigation with an address of any length leads to a sign-in page that is served', async t => {
      for (const [length, to] of [
        [2048, true],
        [2049, false],
        [8192, false],
      ] as const) {
        const { status, headers } = await get('/wiki/a?'.padEnd(length, '&'), NAVIGATION)
        t.match([status, headers.location!.includes('?to=')], [303, to], String(length))
        t.equal((await get(headers.location!, NAVIGATION)).status, 200)
      }
    })

    t.test('programs get 401 as JSON, and so does whatever is below /api', async t => {
      const programs: Record<string, string>[] = [
        {},
        { accept: 'application/json' },
        { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty', accept: 'text/html' },
        { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
        { 'sec-fetch-site': 'same-origin', accept: 'text/html' },
        { accept: 'text/event-stream' },
        { accept: 'text/html', 'x-requested-with': 'XMLHttpRequest' },
        { ...NAVIGATION, 'sec-purpose': 'prefetch;prerender' },
        { ...NAVIGATION, purpose: 'prefetch' },
        { ...NAVIGATION, 'sec-fetch-dest': 'script' },
        // A link that saves a file.
        { ...NAVIGATION, 'sec-fetch-dest': 'empty' },
      ]
      for (const headers of programs) {
        const answer = await get('/wiki/a', headers)
        t.match([answer.status, answer.json()], [401, { code: 401, success: false }], JSON.stringify(headers))
      }
      const ofApi = await get('/api/v1/b/x', NAVIGATION)
      t.match([ofApi.status, ofApi.json().code], [200, 401], 'as ever')
    })

    t.test('a form and a frame get a page that says what to do, without anything of the request', async t => {
      const form = await get('/wiki/a?<b>', { ...NAVIGATION, 'sec-fetch-site': 'same-origin' }, 'POST')
      t.equal(shape(form), '401 text/html')
      t.match(form.text, /nothing was sent.*target="_blank"/s)
      const frame = await get('/wiki/a?<b>', {
        ...NAVIGATION,
        'sec-fetch-dest': 'iframe',
        'accept-language': 'zh-CN,en',
      })
      t.equal(shape(frame), '401 text/html')
      t.match(frame.text, /您尚未登录.*href="\/sign-in\/b\/" target="_top"/s)
      t.notMatch(frame.headers['content-security-policy'], /frame-ancestors/)
      for (const { text, headers } of [form, frame]) {
        t.notMatch(text, /wiki|<b>|script/)
        t.match(headers, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
      }
    })

    t.test('two cookies of one name: a page says what to delete, and nothing is redirected', async t => {
      const token = await business.login(undefined, someone())
      const answer = await get('/wiki/a', { ...NAVIGATION, cookie: `${B}=${token}; ${B}=x` })
      t.equal(shape(answer), '401 text/html')
      t.match(answer.text, `Two cookies ${B}: delete the cookies of this site`)
    })

    t.test('the sign-in page learns of a live session, and why the last one has ended', async t => {
      const user = someone()
      const token = await business.login(undefined, user)
      const ask = async () => (await get('/sign-in/b/session', { cookie: `${B}=${token}` })).json()
      t.match(await ask(), {
        code: 200,
        data: { handle: JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).jti },
      })
      const basic = { cookie: `${B}=${token}`, authorization: 'Basic YTpi' }
      t.equal((await get('/wiki/a', basic)).status, 200)
      t.equal((await get('/sign-in/b/session', basic)).json().code, 200, 'beside the authorization of an application')
      await business.kickout(user)
      t.match(await ask(), { code: 401, data: { ended: 'kicked-out' } })
      t.match(
        (await get('/sign-in/b/session', { authorization: `Bearer ${await business.login(undefined, user)}` })).json(),
        { code: 401 },
        'a token is no cookie',
      )
    })

    t.test('the pages have no inline script, are not framed, and are not served for the other side', async t => {
      for (const path of ['/sign-in/b/', '/sign-out/b']) {
        const { status, headers, text } = await get(`${path}?to=<script>`, {})
        t.equal(status, 200, path)
        t.match(headers['content-security-policy'], /^default-src 'none';script-src 'self';.*frame-ancestors 'none'/)
        t.equal(headers['cache-control'], 'no-store')
        t.notMatch(text, /<script(?![^>]*\bsrc=)|<style|\bstyle=|\son\w+=/)
      }
      t.equal((await get('/sign-in/b/', {})).headers['referrer-policy'], 'no-referrer')
      for (const path of [
        '/sign-in/c/',
        '/sign-in/c',
        '/sign-out/c',
        '/sign-in/',
        '/sign-in/logo',
        '/sign-in/files/main.js',
      ]) {
        t.equal((await get(path, {})).status, 404, path)
      }
    })

    t.test('the address of the sign-in without its last slash leads there, with what it says', async t => {
      const from = `${fixture.url}/sign-in/b?to=%2Fwiki%2F&x=//evil.example`
      const { status, headers } = await get('/sign-in/b?to=%2Fwiki%2F&x=//evil.example', {})
      t.equal(status, 302)
      t.equal(new URL(headers.location!, from).href, `${fixture.url}/sign-in/b/?to=%2Fwiki%2F&x=//evil.example`)
    })

    t.test(
      'a sign-out ends the session, removes the cookie and leads to the sign-in; no other page can cause it',
      async t => {
        const token = await business.login(undefined, someone())
        const cookie = `${B}=${token}`
        for (const headers of [
          { cookie },
          { cookie, origin: 'https://evil.example' },
          { cookie, 'sec-fetch-site': 'cross-site' },
        ] as Record<string, string>[])
          t.equal((await get('/sign-out/b', headers, 'POST')).status, 403)
        t.equal((await get('/wiki/a', { cookie })).status, 200, 'it lives on')
        const form = { cookie, ...SAME, 'content-type': 'application/x-www-form-urlencoded' }
        const answer = await get('/sign-out/b', form, 'POST')
        t.equal(shape(answer), '303 /sign-in/b/?signed-out=1')
        t.same(answer.headers['set-cookie'], [`${B}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax; Secure`])
        t.match((await get('/wiki/a', { cookie })).json(), { code: 401, data: { ended: 'logged-out' } })
        t.equal(shape(await get('/sign-out/b', form, 'POST')), '303 /sign-in/b/?signed-out=1', 'without a session, too')
        t.equal(
          shape(await get('/sign-out/b', { ...SAME, cookie: `${B}=x; ${B}=y` }, 'POST')),
          '303 /sign-in/b/?signed-out=1',
        )
      },
    )

    t.test('a sign-out ends the session also where another host has added a cookie', async t => {
      for (const added of [`${B}=x; ${B}=%`, `${B}=%; ${B}=x`, `${B}=%; ${B}=%`]) {
        const token = await business.login(undefined, someone())
        const other = await business.login(undefined, someone())
        const values = [token, other]
        const cookie = added.replaceAll('%', () => values.shift()!)
        t.equal(shape(await get('/sign-out/b', { ...SAME, cookie }, 'POST')), '303 /sign-in/b/?signed-out=1')
        t.equal((await get('/wiki/a', { cookie: `${B}=${token}` })).status, 401)
        t.equal((await get('/wiki/a', { cookie: `${B}=${other}` })).status, values.length === 0 ? 401 : 200)
      }
    })
  },
  OPTIONS,
)

t.test('the sign-in of consumers leads to the page of the operator, if the settings name one', async t => {
  const config = { browser: { consumer: 'on' } }
  const without = await openFixture(t, { config })
  t.match((await without.get('/sign-in/c/settings.json')).json(), { section: 'c', signs_in: false, home: '/' })
  const page = { ...config, browser: { consumer: 'on', consumer_page: 'https://shop.example/login?x=1' } }
  const fixture = await openFixture(t, { config: page })
  t.match(await fixture.get('/sign-in/c/?to=%2Fshop%2Fa%3Fb'), {
    status: 303,
    headers: { location: 'https://shop.example/login?x=1&to=%2Fshop%2Fa%3Fb' },
  })
  t.match((await fixture.get('/sign-in/c/')).headers, { location: 'https://shop.example/login?x=1' })
})

t.test('the journal says of a sign-out by the page what it says of a logout: who, and from which device', async t => {
  const fixture = await openFixture(t, OPTIONS)
  const admin = await fixture.signIn()
  for (const path of ['/api/v1/b/logout', '/sign-out/b']) {
    const user = someone()
    const token = await fixture.gateway.sides.business.login(undefined, user, { device_id: 'tablet 7' })
    await fixture.call({ method: 'POST', path, headers: { ...SAME, cookie: `${B}=${token}` } })
    const { data } = (await fixture.get(`/api/v1/sys/journal/page?event=logout&login_id=${user}`, admin)).json()
    t.match(data.records, [{ by: user, by_type: 'BUSINESS', device_id: 'tablet 7', address: '127.0.0.1' }], path)
  }
})

t.test('a sign-out ends the session of a disabled user, too', async t => {
  const fixture = await openFixture(t, { config: { browser: { business: 'on' }, disable: { enforce: 'request' } } })
  const { business } = fixture.gateway.sides
  const user = someone()
  const token = await business.login(undefined, user)
  await business.disable(user, 60)
  const headers = { ...SAME, cookie: `${B}=${token}` }
  t.equal((await fixture.call({ method: 'POST', path: '/sign-out/b', headers })).status, 303)
  await business.untieDisable(user)
  t.equal(await business.getLoginIdByToken(token), '', 'a copy of the cookie proves nothing')
})

t.test(
  'who signs out while the store fails reads it in a page, and keeps the cookie',
  { skip: withoutRedis },
  async t => {
    const fixture = await openFixture(t, { ...OPTIONS, store: 'redis' })
    const token = await fixture.gateway.sides.business.login(undefined, someone())
    await fixture.redis!.kill()
    const headers = { ...SAME, cookie: `${B}=${token}` }
    const answer = await fixture.call({ method: 'POST', path: '/sign-out/b', headers })
    t.equal(shape(answer), '503 text/html')
    t.match(answer.text, 'Service unavailable')
    t.match(answer.text, '<a href="/sign-out/b">')
    t.notOk(answer.headers['set-cookie'])
  },
)

t.test('a logo is served with its type', async t => {
  const folder = t.testdir({ 'logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>', 'logo.png': 'PNG' })
  for (const [file, type] of [
    ['logo.svg', 'image/svg+xml'],
    ['logo.png', 'image/png'],
  ] as const) {
    const fixture = await openFixture(t, { config: { browser: { business: 'on', logo: join(folder, file) } } })
    t.match(await fixture.get('/sign-in/logo'), { status: 200, headers: { 'content-type': type } })
    t.match((await fixture.get('/sign-in/b/settings.json')).json(), { has_logo: true })
  }
})

t.test('without browser sessions no path of the sign-in is served', async t => {
  const fixture = await openFixture(t)
  for (const path of ['/sign-in/b/', '/sign-in/b', '/sign-out/b', '/sign-in/files/sign-in.js', '/sign-in/b/session'])
    t.equal((await fixture.get(path)).status, 404, path)
  t.notMatch((await fixture.get('/console/settings.json')).json(), { keeps_cookie: true })
})
