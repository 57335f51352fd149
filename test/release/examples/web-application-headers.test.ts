import t from 'tap'
import { IDENTITY_SPELLINGS } from '../../../src/base/header-names.ts'
import { withoutSessionCookies } from '../../../src/token/cookie.ts'
import { call, callRaw } from '../../support/client.ts'
import { WEB_APPLICATION } from './proxies.ts'
import { B, openWebApplication } from './web-application-fixture.ts'

/* The cookies and the identity that pass a proxy. */

for (const { name, skip, start, dropsAllCookies = false } of WEB_APPLICATION) {
  t.test(`what an application reads behind ${name}`, { skip }, async t => {
    const { application, fixture, url, protocol, host, login, token, session, ask } = await openWebApplication(t, start)

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
  })
}
