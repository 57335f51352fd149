import t from 'tap'
import { call } from '../../support/client.ts'
import { open, openEnd, refusalOf } from '../../support/websocket-sockets.ts'
import { WEB_APPLICATION } from './proxies.ts'
import { openWebApplication, REDIRECTING } from './web-application-fixture.ts'

/* What reaches a web application behind a proxy, and what leads to the sign-in. */

const NAVIGATION = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' }
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' }

for (const { name, skip, start, dropsAllCookies = false } of WEB_APPLICATION) {
  t.test(`a web application behind ${name}`, { skip }, async t => {
    const { application, url, protocol, host, token, session, ask, askFor } = await openWebApplication(t, start)

    t.test('reads no host that the client names in X-Forwarded-Host', async t => {
      const headers = { authorization: `Bearer ${token}`, 'x-forwarded-host': 'forged.example' }
      const { answer, read } = await ask({ path: '/wiki/a', headers })
      t.equal(answer.status, 200)
      t.not(read?.headers['x-forwarded-host'], 'forged.example')
    })

    t.test('leads people to the sign-in, and refuses programs', async t => {
      const way = '/sign-in/b/?to=%2Fwiki%2Fa%3Fb%3Dc'
      for (const headers of [NAVIGATION, { accept: 'text/html' }]) {
        const { answer, read } = await ask({ path: '/wiki/a?b=c', headers: headers as Record<string, string> })
        t.ok(answer.status === 302 || answer.status === 303)
        t.equal(answer.headers.location, way, 'a path, whatever the host')
        t.equal(read, undefined)
      }
      for (const [headers, method] of [
        [{}, 'GET'],
        [{ ...NAVIGATION, 'sec-fetch-dest': 'image' }, 'GET'],
        [{ ...NAVIGATION, 'sec-purpose': 'prefetch' }, 'GET'],
        [{ ...NAVIGATION, purpose: 'prefetch' }, 'GET'],
        [{ accept: 'text/html', 'x-requested-with': 'XMLHttpRequest' }, 'GET'],
        [{ cookie: `${session}x` }, 'GET'],
        [{ cookie: `${session}; ${session}`, ...NAVIGATION }, 'GET'],
        [NAVIGATION, 'POST'],
      ] as const)
        t.same(await askFor(headers as Record<string, string>, method), [401, undefined, undefined])
      t.same(await askFor({ authorization: `Bearer ${token}` }), [200, undefined, '7'])
    })

    t.test('serves the sign-in beside it, and no other page of the gateway', async t => {
      for (const [path, type] of [
        ['/sign-in/b/', /html/],
        ['/sign-in/files/sign-in.js', /javascript/],
        ['/sign-out/b', /html/],
        ['/favicon.ico', /icon/],
        ['/api/v1/public/b/captcha', /json/],
      ] as const) {
        const { answer, read } = await ask({ path })
        t.match([answer.status, answer.headers['content-type'], read], [200, type, undefined], path)
      }
      t.equal((await ask({ path: '/sign-in/b/session', headers: { cookie: session } })).answer.status, 200)
      for (const path of ['/', '/docs', '/verify', '/verify-redirect', '/wikipedia', '/x/../wiki/a', '//wiki/a']) {
        const { answer, read } = await ask({ path, headers: { cookie: session } })
        t.match([answer.status >= 300, read], [true, undefined], path)
      }
    })

    t.test('requests no other path that an answer names', async t => {
      for (const path of Object.values(REDIRECTING)) {
        const before = application.requests.length
        t.equal((await call(url, { path, headers: { cookie: session } })).status, 200, path)
        t.same(
          application.requests.slice(before).map(read => read.url),
          [path],
        )
      }
    })

    t.test('accepts writes of its own pages only', async t => {
      const own = `${protocol}//${host}`
      for (const [headers, status] of [
        [SAME_ORIGIN, 200],
        [{ ...SAME_ORIGIN, origin: own }, 200],
        [{ origin: own }, 200],
        [{ 'sec-fetch-site': 'same-site', origin: own }, 403],
        [{ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, 403],
        [{ origin: 'https://evil.example' }, 403],
        [{ origin: 'https://evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }, 403],
        [{ origin: 'null' }, 403],
        [{}, 403],
      ] as const) {
        const sent = { cookie: session, ...(headers as Record<string, string>) }
        const { answer, read } = await ask({ path: '/wiki/a', method: 'POST', headers: sent, body: 'a=1' })
        t.same([answer.status, read?.method], [status, status === 200 ? 'POST' : undefined], JSON.stringify(headers))
      }
    })

    t.test('gets a large upload whole', async t => {
      const headers = { cookie: session, ...SAME_ORIGIN }
      const body = 'x'.repeat(2 * 1024 * 1024)
      const { answer, read } = await ask({ path: '/wiki/files', method: 'POST', headers, body })
      t.same([answer.status, read?.bytes], [200, body.length])
    })

    t.test('opens WebSockets of its own pages only', async t => {
      const path = '/wiki/live'
      const own = `${protocol}//${host}`
      for (const [headers, status] of [
        [{ origin: own }, 401],
        [{ cookie: session, origin: 'https://evil.example' }, 403],
        [{ cookie: session, 'sec-fetch-site': 'same-site', origin: own }, 403],
        [{ cookie: session }, 403],
      ] as const)
        t.equal(await refusalOf(t, url, { path, headers: headers as Record<string, string> }), status)
      t.same(application.sockets.handshakes, [])
      const end = await openEnd(t, url, { path, headers: { cookie: `${session}; a=1`, origin: own } })
      end.send('hello')
      const { headers } = application.sockets.handshakes.at(-1)!
      t.equal(headers.cookie, dropsAllCookies ? undefined : 'a=1')
      t.match(headers, { 'x-login-id': '7', 'x-login-type': 'BUSINESS' })
      end.close()
      const { end: other } = await open(t, url, { path, headers: { cookie: session, ...SAME_ORIGIN } })
      t.ok(other, 'as browsers say it')
      other?.close()
    })
  })
}
