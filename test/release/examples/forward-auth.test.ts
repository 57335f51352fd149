import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { IDENTITY_SPELLINGS, OVERRIDING_SPELLINGS } from '../../../src/base/header-names.ts'
import { makeKey } from '../../../src/token/key-form.ts'
import { call, callRaw } from '../../support/client.ts'
import { startFixture } from '../../support/gateway-fixture.ts'
import { temporaryFolder } from '../../support/image.ts'
import { makeOwnKey } from '../../support/keys.ts'
import { type Arrived, startUpstream } from '../../support/upstream.ts'
import { FORWARD_AUTH } from './proxies.ts'

/*
 * Real proxies that ask /verify, with the examples of config/examples, before a backend that reads header names as CGI and
 * WSGI do: in capitals, and with `_` for every other character, so that several spellings are one name.
 */

/** The variables of a CGI program; what arrived several times under one name is joined, as by WSGI servers. */
function environmentOf({ rawHeaders }: Arrived): Record<string, string> {
  const environment: Record<string, string> = {}
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = `HTTP_${rawHeaders[i]!.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`
    const value = rawHeaders[i + 1]!
    environment[name] = environment[name] === undefined ? value : `${environment[name]},${value}`
  }
  return environment
}

const OUT = { retry_after: '90s', allow: ['10.0.0.1'] }
const FEW = { requests: 1, window: '60s' }

const PAGE = '<!doctype html><title>Orders</title>'

/** The pages beside the backend, as files and from a server of their own. */
async function startPages(t: Test): Promise<{ folder: string; url: string; requests: Arrived[] }> {
  const folder = temporaryFolder(t, 'pages')
  // For servers that give their rights away.
  chmodSync(folder, 0o755)
  writeFileSync(join(folder, 'index.html'), PAGE)
  const server = await startUpstream({
    answer: ({ url = '' }, response) => {
      if (url !== '/' && url !== '/index.html') response.statusCode = 404
      response.end(url === '/' || url === '/index.html' ? PAGE : '')
    },
  })
  t.teardown(() => server.close())
  return { folder, url: server.url, requests: server.requests }
}

const inCapitals = (name: string): string => name.replace(/(^|[-_.])[a-z]/g, letter => letter.toUpperCase())

for (const { name, skip, start, answers503Itself } of FORWARD_AUTH) {
  t.test(`a backend behind ${name} that asks /verify`, { skip }, async t => {
    const fixture = await startFixture({
      upstreams: [
        { name: 'out', match: '/api/v1/public/c/out', target: 'http://127.0.0.1:1', maintenance: OUT },
        { name: 'few', match: '/api/v1/public/c/few', target: 'http://127.0.0.1:1', rate_limit: FEW },
      ],
      config: {
        trusted_proxies: ['127.0.0.1'],
        access: [{ path: '/api/v1/public/c/near/*', allow: ['10.0.0.0/8'] }],
        gate: {
          exceptions: [
            { path: '/api/v1/dict', needs: 'none' },
            { path: '/api/v1/file/*', needs: 'either' },
          ],
        },
      },
    })
    const backend = await startUpstream()
    t.teardown(() => Promise.all([fixture.close(), backend.close()]))
    const pages = await startPages(t)
    const url = await start(t, { gateway: fixture.internal, backend: backend.url, pages })
    const { token } = (await fixture.operate('consumer', 'login', { user_id: '42' })).data
    const program = await makeOwnKey(fixture, await fixture.signIn())

    /** What a request leads to: its status, and what the backend reads of it. */
    const ask = async (path: string, headers: Record<string, string> = {}, by?: string, method = 'GET') => {
      const before = backend.requests.length
      const asked = {
        method,
        path,
        headers,
        ...(by !== undefined && { token: by }),
        ...(method === 'POST' && { body: { a: 1 } }),
      }
      const { status } = await call(url, asked)
      const [arrived] = backend.requests.slice(before)
      return { status, arrived, environment: arrived === undefined ? null : environmentOf(arrived) }
    }
    const expectIdentity = (
      t: Test,
      environment: Record<string, string> | null,
      id: string,
      type: string,
      what: string,
      key = '',
    ) => {
      t.same([environment?.HTTP_X_LOGIN_ID ?? '', environment?.HTTP_X_LOGIN_TYPE ?? ''], [id, type], what)
      t.equal(environment?.HTTP_X_LOGIN_KEY ?? '', key, what)
      t.same([environment?.HTTP_X_LOGIN_EXTRA ?? '', environment?.HTTP_X_LOGIN_SIGNATURE ?? ''], ['', ''], what)
    }

    t.test('gets no request for a path that its own answer names', async t => {
      const { answer } = backend
      t.teardown(() => Object.assign(backend, { answer }))
      backend.answer = ({ url = '' }, response) => {
        if (url === '/api/v1/public/b/x') response.setHeader('x-accel-redirect', '/api/v1/sys/x')
        response.end('served')
      }
      const before = backend.requests.length
      const { status } = await ask('/api/v1/public/b/x')
      t.equal(status, 200)
      t.same(
        backend.requests.slice(before).map(({ url }) => url),
        ['/api/v1/public/b/x'],
      )
    })

    t.test('gets a request with a live session, with its identity and without the token', async t => {
      for (const method of ['GET', 'POST']) {
        const { status, arrived, environment } = await ask('/api/v1/c/orders?a=1', {}, token, method)
        t.equal(status, 200)
        t.equal(arrived?.url, '/api/v1/c/orders?a=1')
        t.equal(arrived?.method, method)
        expectIdentity(t, environment, '42', 'CONSUMER', method)
        t.equal(environment?.HTTP_AUTHORIZATION, undefined)
      }
      expectIdentity(t, (await ask('/api/v1/file/x', {}, token)).environment, '42', 'CONSUMER', 'an exception')
    })

    t.test('gets a large upload whole', async t => {
      const body = 'x'.repeat(2 * 1024 * 1024)
      const { status } = await call(url, { method: 'POST', path: '/api/v1/c/files', token, body })
      t.equal(status, 200)
      t.ok(backend.requests.at(-1)?.body === body)
    })

    t.test('reads no address, host or scheme that the client chose for X-Forwarded-*', async t => {
      const forged = {
        'x-forwarded-for': '203.0.113.9',
        'x-forwarded-host': 'forged.example',
        'x-forwarded-proto': 'wss',
      }
      const { status, arrived } = await ask('/api/v1/c/x', forged, token)
      t.equal(status, 200)
      // Envoy and others append to the first: what a backend may believe stands at its end.
      for (const [header, value] of Object.entries(forged))
        t.not(String(arrived?.headers[header]).split(',').at(-1)?.trim(), value, header)
    })

    t.test('has as long for a download as it takes, and so have the pages beside it', async t => {
      for (const path of ['/api/v1/c/files', '/']) t.equal((await call(url, { path, token })).status, 200)
      // Envoy names here its limit for the whole response.
      for (const { headers } of [...backend.requests, ...pages.requests])
        t.equal(headers['x-envoy-expected-rq-timeout-ms'], undefined)
    })

    t.test('gets a request with a key, with the id of the key, and without the key', async t => {
      for (const headers of [{}, { 'x-login-key': 'forged' }]) {
        const { status, environment } = await ask('/api/v1/orders', headers, program.key)
        t.equal(status, 200)
        expectIdentity(t, environment, '1', 'BUSINESS', 'with a key', program.id)
        t.notMatch(Object.values(environment!).join(), program.key)
      }
      for (const wrong of [makeKey('BUSINESS').key, `${program.key}x`]) {
        const { status, arrived } = await ask('/api/v1/orders', {}, wrong)
        t.same([status, arrived], [401, undefined])
      }
    })

    t.test('gets nothing without a session of the side, nor at an ambiguous path', async t => {
      const refused: [path: string, by: string | undefined, status: number][] = [
        ['/api/v1/c/orders', undefined, 401],
        ['/api/v1/orders', token, 401],
        ['/api/v1/c/orders', `${token}x`, 401],
        ['/api/v1/dict/', token, 401],
        ['/api/elsewhere', token, 403],
      ]
      for (const [path, by, status] of refused) {
        const { arrived, status: given } = await ask(path, {}, by)
        t.same([given, arrived], [status, undefined], path)
      }
      for (const path of ['/api/v1/c/%2e%2e/sys/u', '/api/v1/c/..;/x', '/api/v1//c/x', '/api/v1/public/b/..%2fx']) {
        const { arrived, status } = await ask(path, {}, token)
        t.ok(status >= 400 && arrived === undefined, path)
      }
    })

    t.test('reads no identity where no session is needed, and no placeholder in its place', async t => {
      for (const path of ['/api/v1/public/b/x', '/api/v1/dict']) {
        for (const by of [undefined, token]) {
          const { status, environment } = await ask(path, {}, by)
          t.equal(status, 200)
          expectIdentity(t, environment, '', '', path)
        }
      }
    })

    t.test(
      'gets nothing of an upstream under maintenance or beyond a rate limit, and the client learns when to come back',
      async t => {
        const answerOf = async (path: string, headers: Record<string, string> = {}) => {
          const before = backend.requests.length
          const { status, headers: told } = await call(url, { path, headers })
          return [status, told['retry-after'], backend.requests.length - before]
        }
        const invented = { 'x-forwarded-for': '10.0.0.1' }
        const retryAfter = answers503Itself ? undefined : '90'
        t.same(await answerOf('/api/v1/public/c/out/x'), [503, retryAfter, 0])
        t.same(
          await answerOf('/api/v1/public/c/out/x', invented),
          [503, retryAfter, 0],
          'a client cannot choose its address',
        )
        t.same(await answerOf('/api/v1/public/c/near/x', invented), [403, undefined, 0])
        t.same(await answerOf('/api/v1/public/c/few/x'), [200, undefined, 1])
        t.same(await answerOf('/api/v1/public/c/few/x', invented), [429, '60', 0])
      },
    )

    t.test('never reads a forged identity, however it is spelled', async t => {
      t.equal(IDENTITY_SPELLINGS.length, 45)
      for (const spelling of IDENTITY_SPELLINGS.flatMap(lower => [lower, inCapitals(lower), lower.toUpperCase()])) {
        for (const [path, by, id, type] of [
          ['/api/v1/c/x', token, '42', 'CONSUMER'],
          ['/api/v1/public/b/x', undefined, '', ''],
        ] as const) {
          const { status, environment } = await ask(path, { [spelling]: 'forged' }, by)
          if (environment === null) {
            t.equal(status, 403, `${spelling} is refused`)
            t.match(spelling, /[_.]/, 'and no plain spelling is: the proxy removes it')
          } else expectIdentity(t, environment, id, type, `${spelling} at ${path}`)
        }
      }
    })

    t.test('has pages beside it, which every client gets', async t => {
      for (const path of ['/', '/index.html'])
        for (const own of [{}, { token }, { token: `${token}x` }]) {
          const { status, text } = await call(url, { path, ...own })
          t.same([status, text], [200, PAGE], path)
        }
    })

    t.test('gets no header that names another path or method, however it is spelled', async t => {
      for (const spelling of OVERRIDING_SPELLINGS) {
        const { status, environment } = await ask('/api/v1/public/c/x', { [spelling]: '/api/v1/sys/x' })
        if (status === 403) continue
        t.equal(status, 200, spelling)
        t.notOk(Object.values(environment ?? {}).includes('/api/v1/sys/x'), spelling)
      }
    })

    t.test('gets no request that could be for a page, however its path is spelled', async t => {
      for (const path of ['/', '/c/x', '/x/../api/v1/c/x', '/x/%2e%2e/api/v1/c/x', '//api/v1/c/x', '/./api/v1/c/x'])
        t.equal((await ask(path, {}, token)).arrived, undefined, path)
      for (const path of ['/API/v1/c/x', '/api%2fv1/c/x', '/api;/v1/c/x', '/api', '/api/', '/api/x'])
        t.equal((await ask(path, {}, token)).arrived, undefined, path)
      // Traefik decodes what needs no escape, and then chooses the route. The gate judges that path, too.
      const { arrived } = await ask('/%61pi/v1/c/x', {}, token)
      t.equal(arrived?.url, arrived && '/api/v1/c/x')
      t.equal(arrived?.headers['x-login-id'], arrived && '42')
    })

    t.test('cannot be sent another path or method than the requested one', async t => {
      for (const headers of [
        { 'x-forwarded-uri': '/api/v1/public/b/x' },
        { 'x-original-uri': '/api/v1/public/b/x' },
        { 'x-forwarded-method': 'OPTIONS', 'x-original-method': 'OPTIONS' },
      ]) {
        const { status, arrived } = await ask('/api/v1/orders', headers as Record<string, string>, token)
        t.ok((status === 401 || status === 403) && arrived === undefined, JSON.stringify(headers))
      }
    })

    t.test('still reads the identity if the client names its headers in Connection', async t => {
      for (const [path, by, id, type, key] of [
        ['/api/v1/c/x', token, '42', 'CONSUMER', ''],
        ['/api/v1/orders', program.key, '1', 'BUSINESS', program.id],
      ] as const) {
        const before = backend.requests.length
        const lines = [`GET ${path} HTTP/1.1`, `Host: ${new URL(url).host}`, `Authorization: Bearer ${by}`]
        const named = 'Connection: close, X-Login-Id, X-Login-Type, X-Login-Key'
        await callRaw(url, `${[...lines, named].join('\r\n')}\r\n\r\n`)
        const [arrived] = backend.requests.slice(before)
        expectIdentity(t, arrived === undefined ? null : environmentOf(arrived), id, type, 'it arrives', key)
      }
    })
  })
}
