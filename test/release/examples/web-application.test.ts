import { readFileSync } from 'node:fs'
import { createServer as createPlainServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { IDENTITY_SPELLINGS } from '../../../src/base/header-names.ts'
import { withoutSessionCookies } from '../../../src/token/cookie.ts'
import { openBrowser, withoutBrowser } from '../../support/browser.ts'
import { type Answer, type Call, call, callRaw } from '../../support/client.ts'
import { fillIn, solve } from '../../support/console.ts'
import { ADMIN, type Fixture, startFixture } from '../../support/gateway-fixture.ts'
import { open, openEnd, refusalOf, type SocketUpstream, startSocketUpstream } from '../../support/websocket-sockets.ts'
import { makeCertificate, WEB_APPLICATION } from './proxies.ts'

/*
 * Real proxies that forward to a web application themselves, with the examples of config/examples. The gateway decides about
 * each request, and signs people in on the same host.
 */

const B = '__Host-dualgate-b'
const NAVIGATION = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' }
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' }

/** A request as the application read it. */
interface Read {
  method: string
  url: string
  headers: NodeJS.Dict<string | string[]>
  names: string[]
  /** The bytes of its body. */
  bytes: number
}

interface Application {
  url: string
  requests: Read[]
  sockets: SocketUpstream
}

/** Where the application answers with a header by which nginx requests another path. */
const REDIRECTING = { behindProxy: '/wiki/open/file', behindGateway: '/api/v1/sys/file' }

/** It knows nothing of sessions, has a cookie of its own, and says what it reads. */
async function startApplication(t: Test): Promise<Application> {
  const sockets = await startSocketUpstream(t)
  const requests: Read[] = []
  // WebSockets and pages have one address.
  sockets.server.removeAllListeners('request')
  sockets.server.on('request', (request, response) => {
    const { method = '', url = '', headers, rawHeaders } = request
    const read = { method, url, headers, names: rawHeaders.filter((_, at) => at % 2 === 0), bytes: 0 }
    requests.push(read)
    response.setHeader('content-type', 'text/html')
    response.setHeader('set-cookie', 'theme=dark; Path=/wiki/')
    if (Object.values(REDIRECTING).includes(url)) response.setHeader('x-accel-redirect', '/wiki/a')
    const page = `<!doctype html><title>Wiki</title><link rel="icon" href="data:,">
<p id="user">${headers['x-login-id']}</p><p id="cookies">${headers.cookie ?? ''}</p><p id="method">${method}</p>
<form method="post" action="/wiki/save"><button>Save</button></form>`
    request
      .on('data', ({ length }) => {
        read.bytes += length
      })
      .on('end', () => response.end(page))
  })
  return { url: sockets.url, requests, sockets }
}

/** A site at another port of the same host: browsers send it the cookies of the host, but it is another origin. */
async function startOtherSite(t: Test, protocol: string, text: string): Promise<string> {
  const answer = (_request: unknown, response: { end(text: string): void }) => response.end(text)
  const { cert, key } = protocol === 'https:' ? makeCertificate(t) : { cert: '', key: '' }
  const server =
    protocol === 'https:'
      ? createSecureServer({ cert: readFileSync(cert), key: readFileSync(key) }, answer)
      : createPlainServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `${protocol}//127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The sign-in page, filled in and sent. */
async function signIn(fixture: Fixture, page: Page, load: () => Promise<unknown>): Promise<void> {
  await solve(fixture, page, load)
  await fillIn(page, ADMIN.username, ADMIN.password)
  await page.click('button[type=submit]')
  await page.waitForSelector('#user')
}

/** Runs in the browser: what a WebSocket echoes, or `refused`. */
const echoed = (address: string): Promise<string> =>
  new Promise(resolve => {
    const socket = new WebSocket(address)
    socket.onopen = () => socket.send('hello')
    socket.onmessage = ({ data }) => resolve(data)
    socket.onerror = () => resolve('refused')
  })

for (const { name, skip, start, dropsAllCookies = false } of WEB_APPLICATION) {
  t.test(`a web application behind ${name}`, { skip }, async t => {
    const application = await startApplication(t)
    const fixture = await startFixture({
      upstreams: [{ name: 'files', match: REDIRECTING.behindGateway, target: application.url }],
      config: {
        trusted_proxies: ['127.0.0.1'],
        browser: { business: 'on' },
        gate: {
          pages: [
            { path: '/wiki/open/*', needs: 'none' },
            { path: '/wiki/*', needs: 'business' },
          ],
        },
        sessions: { auto_renew: '1m' },
      },
    })
    t.teardown(() => fixture.close())
    const url = await start(t, { gateway: fixture.internal, backend: application.url, signIn: fixture.url })
    const { protocol, host } = new URL(url)
    const login = (): Promise<string> => fixture.gateway.sides.business.login(undefined, '7')
    const token = await login()
    const session = `${B}=${token}`

    /** What a request leads to, and what the application reads of it. */
    const ask = async (asked: Call): Promise<{ answer: Answer; read: Read | undefined }> => {
      const before = application.requests.length
      const answer = await call(url, asked)
      return { answer, read: application.requests[before] }
    }
    const askFor = async (headers: Record<string, string>, method = 'GET', path = '/wiki/a?b=c') => {
      const { answer, read } = await ask({ path, method, headers })
      return [answer.status, answer.headers.location, read?.headers['x-login-id']]
    }

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

    t.test('passes on all cookies except those of the gateway', async t => {
      const others = 'xdualgate-b=1; dualgate-bar=2; __Host-dualgate-bx=3; dualgate=4; x=dualgate-b; csrf="5=6"'
      for (const cookie of [
        session,
        `${session}; a=1`,
        `a=1; ${session}`,
        `a=1; ${session}; b=2`,
        `${session};a=1`,
        `a=1; ${session}; __Host-dualgate-c=x; b=2`,
        `__Host-dualgate-c=x; a=1; ${session}`,
        `${session}; __Host-dualgate-c=x`,
        `${session}; a=1; __Host-dualgate-c=x; b=2; dualgate-b=y`,
        `dualgate-c=x; __Secure-dualgate-b=y; ${session}`,
        `a=1; __Secure-dualgate-c=; ${session}`,
        `${session}; __Host-dualgate-flow=x; a=1`,
        `dualgate-c=x; dualgate-flow=z; __Secure-dualgate-b=y; a=1; ${session}`,
        `${others}; ${session}`,
        `${session}; ${others}`,
      ]) {
        const { answer, read } = await ask({ path: '/wiki/a', headers: { cookie } })
        t.equal(answer.status, 200, cookie.replaceAll(token, 'token'))
        t.equal(read?.headers.cookie, dropsAllCookies ? undefined : (withoutSessionCookies(cookie) ?? undefined))
      }
      t.equal((await ask({ path: '/wiki/a', headers: { cookie: session } })).read?.names.includes('Cookie'), false)
      if (!dropsAllCookies)
        t.equal((await ask({ path: '/wiki/open/a', headers: { cookie: others } })).read?.headers.cookie, others)
    })

    t.test('never passes on a session, whatever comes with it', async t => {
      const many = (each: string) => Array.from({ length: 5 }, () => each)
      for (const lines of [
        [[...many('dualgate-b=x'), session].join('; ')],
        [[session, ...many('a=1; dualgate-c=x')].join('; ')],
        [[...many('dualgate-flow=x; a=1'), session].join('; ')],
        [[...many('dualgate-b=x; a=1'), session, ...many('__Secure-dualgate-c')].join('; ')],
        ['a=1', session],
        [session, 'a=1', 'dualgate-b=x'],
        [`a=1;\t${session}`],
        [`${B} =${token}`],
        [`a=1;;${session};`],
      ]) {
        const before = application.requests.length
        const head = ['GET /wiki/a HTTP/1.1', `Host: ${host}`, 'Connection: close', ...lines.map(l => `Cookie: ${l}`)]
        if (protocol === 'http:') await callRaw(url, `${head.join('\r\n')}\r\n\r\n`)
        else await call(url, { path: '/wiki/a', headers: { Cookie: lines.join('; ') } })
        for (const { headers } of application.requests.slice(before)) {
          const title = lines.join(' | ').replaceAll(token, 'token')
          t.notMatch(headers.cookie ?? '', token, title)
          t.notMatch(headers.cookie ?? '', /(?:^|[; ])(?:__Host-|__Secure-)?dualgate-(?:[bc]|flow)\s*=/, title)
        }
      }
      for (const authorization of [`Bearer ${token}`, 'Basic dTpw']) {
        const { answer, read } = await ask({ path: '/wiki/a', headers: { cookie: session, authorization } })
        t.equal(answer.status, 200)
        t.equal(read?.headers.authorization, undefined)
      }
    })

    t.test('shows the application the identity that the gateway has found, and no forged one', async t => {
      const { read } = await ask({ path: '/wiki/a?b=c', headers: { cookie: session } })
      t.match(read, { url: '/wiki/a?b=c', headers: { 'x-login-id': '7', 'x-login-type': 'BUSINESS', host } })
      for (const spelling of IDENTITY_SPELLINGS) {
        for (const [path, id, type] of [
          ['/wiki/a', '7', 'BUSINESS'],
          ['/wiki/open/a', '', ''],
        ] as const) {
          const { answer, read } = await ask({ path, headers: { cookie: session, [spelling]: 'forged' } })
          if (read === undefined) {
            t.equal(answer.status, 403, spelling)
            t.match(spelling, /[_.]/, 'the proxy removes the plain spelling')
            continue
          }
          t.same([read.headers['x-login-id'] ?? '', read.headers['x-login-type'] ?? ''], [id, type], spelling)
          t.notOk(Object.values(read.headers).includes('forged'), spelling)
        }
      }
    })

    t.test('shows it the identity if the client names its headers in Connection', async t => {
      const { read } = await ask({
        path: '/wiki/a',
        headers: { cookie: session, connection: 'close, X-Login-Id, X-Login-Type' },
      })
      t.match(read?.headers, { 'x-login-id': '7', 'x-login-type': 'BUSINESS' })
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

    t.test('passes on the cookie of a renewed session, beside those of the application', async t => {
      const mine = await login()
      const cookiesOf = async () => {
        const { answer } = await ask({ path: '/wiki/a', headers: { cookie: `${B}=${mine}` } })
        // Traefik writes the attributes in an order of its own.
        return answer.headers['set-cookie']?.toSorted().map(cookie => cookie.split('; ').toSorted())
      }
      const own = ['Path=/wiki/', 'theme=dark']
      t.same(await cookiesOf(), [own])
      await fixture.elapse(61_000)
      const renewed = ['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax', 'Secure', `${B}=${mine}`]
      t.same(await cookiesOf(), [renewed, own])
      t.same(await cookiesOf(), [own])
    })

    t.test('serves people in a browser', { skip: withoutBrowser }, async t => {
      const visit = await openBrowser(t)
      const { page, complaints } = await visit(t, { ignoreHTTPSErrors: true })
      const wiki = `${url}/wiki/page?a=%2Fb#part`
      await signIn(fixture, page, async () => {
        await page.goto(wiki)
        t.match(page.url(), `${url}/sign-in/b/?to=`)
      })
      t.equal(page.url(), wiki, 'back, with query and fragment')
      t.equal(await page.textContent('#user'), '1')
      t.same(complaints, [])
      t.same((await page.context().cookies()).map(({ name }) => name).toSorted(), [B, 'theme'])

      await page.reload()
      t.equal(await page.textContent('#cookies'), dropsAllCookies ? '' : 'theme=dark')
      await page.click('button')
      await page.waitForURL(`${url}/wiki/save`)
      t.same([await page.textContent('#method'), await page.textContent('#user')], ['POST', '1'], 'a form')
      const live = `${url.replace('http', 'ws')}/wiki/live`
      t.equal(await page.evaluate(echoed, live), 'echo: hello')

      const form = `<!doctype html><form method="post" action="${url}/wiki/save"><button>Win</button></form>`
      await page.goto(await startOtherSite(t, protocol, form))
      const [sent, opened] = [application.requests.length, application.sockets.handshakes.length]
      t.equal(await page.evaluate(echoed, live), 'refused')
      const [refused] = await Promise.all([page.waitForResponse(`${url}/wiki/save`), page.click('button')])
      t.equal(refused.status(), 403, 'a form of another origin, although the cookie comes with it')
      t.same([application.requests.length, application.sockets.handshakes.length], [sent, opened])

      await page.goto(wiki)
      await fixture.gateway.sides.business.kickout('1')
      const [ended] = await Promise.all([page.waitForResponse(`${url}/wiki/save`), page.click('button')])
      t.equal(ended.status(), 401, 'a form after the end of the session')
      await signIn(fixture, page, () => page.goto(wiki))
      await page.goto(`${url}/sign-out/b`)
      await page.click('button[type=submit]')
      await page.locator('.told', { hasText: 'You are signed out.' }).waitFor()
      t.equal((await page.request.get(wiki, { maxRedirects: 0 })).status(), 401)
      t.same(
        (await page.context().cookies()).map(({ name }) => name),
        ['theme'],
      )
      await solve(fixture, page, () => page.reload())
      await fillIn(page, ADMIN.username, ADMIN.password)
      await page.click('button[type=submit]')
      await page.waitForURL(`${url}/console/`)
      await page.waitForSelector('.chrome')
    })
  })
}
