import t, { type Test } from 'tap'
import { IDENTITY_SPELLINGS } from '../../src/upstream/headers/names.ts'
import { runCaddy, withoutCaddy } from '../support/caddy.ts'
import { call, callRaw } from '../support/client.ts'
import { blocksOf, GUIDE } from '../support/documents.ts'
import { openFixture } from '../support/gateway-fixture.ts'
import { runNginx, withoutNginx } from '../support/nginx.ts'
import { freePort } from '../support/ports.ts'
import { type Arrived, startUpstream } from '../support/upstream.ts'

/*
 * Real proxies that ask /verify, configured as the guide says, before a backend that reads header names as CGI and WSGI
 * do: in capitals, and with `_` for every other character, so that several spellings are one name.
 */

const recipe = (language: string): string => blocksOf(GUIDE).find(block => block.language === language)!.text

interface Addresses {
  port: number
  gateway: string
  backend: string
}

const nginxSite = ({ port, gateway, backend }: Addresses): string =>
  recipe('nginx')
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
    .replace('http://127.0.0.1:3000', backend)
    .replace('http://127.0.0.1:8081', gateway)

const caddySite = ({ port, gateway, backend }: Addresses): string =>
  recipe('caddy')
    .replace('api.example.com', `http://127.0.0.1:${port}`)
    .replace('127.0.0.1:8081', new URL(gateway).host)
    .replace('127.0.0.1:3000', new URL(backend).host)

const PROXIES = [
  {
    name: 'nginx',
    skip: withoutNginx,
    start: (addresses: Addresses) => runNginx(addresses.port, nginxSite(addresses)),
  },
  {
    name: 'nginx that passes on every header name',
    skip: withoutNginx,
    start: (addresses: Addresses) =>
      runNginx(addresses.port, `underscores_in_headers on; ignore_invalid_headers off;\n${nginxSite(addresses)}`),
  },
  {
    name: 'Caddy',
    skip: withoutCaddy,
    start: (addresses: Addresses) => runCaddy(addresses.port, caddySite(addresses)),
  },
]

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

const inCapitals = (name: string): string => name.replace(/(^|[-_.])[a-z]/g, letter => letter.toUpperCase())

for (const { name, skip, start } of PROXIES) {
  t.test(`a backend behind ${name} that asks /verify`, { skip }, async t => {
    const fixture = await openFixture({
      config: {
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
    const port = await freePort()
    const proxy = await start({ port, gateway: fixture.internal, backend: backend.url })
    t.teardown(() => proxy.stop())
    const url = `http://127.0.0.1:${port}`
    const { token } = (await fixture.operate('consumer', 'login', { user_id: '42' })).data

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
    ) => {
      t.same([environment?.HTTP_X_LOGIN_ID ?? '', environment?.HTTP_X_LOGIN_TYPE ?? ''], [id, type], what)
      t.same([environment?.HTTP_X_LOGIN_EXTRA ?? '', environment?.HTTP_X_LOGIN_SIGNATURE ?? ''], ['', ''], what)
    }

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

    t.test('gets nothing without a session of the side, nor at an ambiguous path', async t => {
      const refused: [path: string, by: string | undefined, status: number][] = [
        ['/api/v1/c/orders', undefined, 401],
        ['/api/v1/orders', token, 401],
        ['/api/v1/c/orders', `${token}x`, 401],
        ['/api/v1/dict/', token, 401],
        ['/elsewhere', token, 403],
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

    t.test('never reads a forged identity, however it is spelled', async t => {
      t.equal(IDENTITY_SPELLINGS.length, 36)
      for (const spelling of IDENTITY_SPELLINGS.flatMap(lower => [lower, inCapitals(lower), lower.toUpperCase()])) {
        for (const [path, by, id, type] of [
          ['/api/v1/c/x', token, '42', 'CONSUMER'],
          ['/api/v1/public/b/x', undefined, '', ''],
        ] as const) {
          const { status, environment } = await ask(path, { [spelling]: 'forged' }, by)
          if (environment === null) t.equal(status, 403, `${spelling} is refused`)
          else expectIdentity(t, environment, id, type, `${spelling} at ${path}`)
        }
      }
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
      const before = backend.requests.length
      const lines = ['GET /api/v1/c/x HTTP/1.1', `Host: 127.0.0.1:${port}`, `Authorization: Bearer ${token}`]
      await callRaw(url, `${[...lines, 'Connection: close, X-Login-Id, X-Login-Type'].join('\r\n')}\r\n\r\n`)
      const [arrived] = backend.requests.slice(before)
      expectIdentity(t, arrived === undefined ? null : environmentOf(arrived), '42', 'CONSUMER', 'it arrives')
    })
  })
}
