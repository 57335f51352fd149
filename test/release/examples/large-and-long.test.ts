import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { call } from '../../support/client.ts'
import { type Fixture, startFixture } from '../../support/gateway-fixture.ts'
import { temporaryFolder } from '../../support/image.ts'
import { ROOT } from '../../support/root.ts'
import { type Recorder, startUpstream } from '../../support/upstream.ts'
import { openEnd, type SocketUpstream, startSocketUpstream } from '../../support/websocket-sockets.ts'
import { FORWARD_AUTH, firstPartOf, IN_FRONT, WEB_APPLICATION } from './proxies.ts'

/* What passes the gateway also passes the proxies of config/examples: heads and bodies of a size, and responses that stay open. */

/** 12 KiB: the gateway accepts 16 KiB of a client, and 32 KiB of a backend. */
const LARGE = 'x'.repeat(12 * 1024)

interface Way {
  url: string
  path: string
  headers: Record<string, string>
  backend: Recorder
}

function expectSizes(t: Test, { url, path, headers, backend }: Way): void {
  t.test('passes a large request head', async t => {
    const { status } = await call(url, { path, headers: { ...headers, 'x-large': LARGE } })
    t.equal(status, 200)
    t.equal(backend.requests.at(-1)?.headers['x-large'], LARGE)
  })

  t.test('passes a large response head', async t => {
    const usual = backend.answer
    backend.answer = (_request, response) => response.setHeader('x-large', LARGE).end()
    const answer = await call(url, { path, headers })
    backend.answer = usual
    t.equal(answer.status, 200)
    t.equal(answer.headers['x-large'], LARGE)
  })

  t.test('passes a large upload whole', async t => {
    const body = 'x'.repeat(2 * 1024 * 1024)
    const { status } = await call(url, { method: 'POST', path, headers, body })
    t.equal(status, 200)
    t.ok(backend.requests.at(-1)?.body === body)
  })
}

function expectStreams(t: Test, { url, path, headers, backend }: Way): void {
  t.test('passes events while the backend still writes them, without a limit for the whole response', async t => {
    const usual = backend.answer
    backend.answer = (_request, response) => {
      response.setHeader('content-type', 'text/event-stream')
      response.write('data: first\n\n')
    }
    t.equal(await firstPartOf(`${url}${path}`, headers), 'data: first\n\n')
    backend.answer = usual
    // Envoy names here its limit.
    t.equal(backend.requests.at(-1)?.headers['x-envoy-expected-rq-timeout-ms'], undefined)
  })
}

async function startBoth(
  t: Test,
  config: object = {},
): Promise<{ fixture: Fixture; backend: Recorder; live: SocketUpstream }> {
  const backend = await startUpstream()
  const live = await startSocketUpstream(t)
  const fixture = await startFixture({
    config: { trusted_proxies: ['127.0.0.1'], ...config },
    upstreams: [
      { name: 'live', match: '/api/v1/c/live', target: live.url, websocket: {} },
      { name: 'backend', match: '/api/v1', target: backend.url, body_limit: '4MiB' },
    ],
  })
  t.teardown(() => Promise.all([fixture.close(), backend.close()]))
  return { fixture, backend, live }
}

const bearer = async (fixture: Fixture): Promise<{ token: string; headers: Record<string, string> }> => {
  const { token } = (await fixture.operate('consumer', 'login', { user_id: '42' })).data
  return { token, headers: { authorization: `Bearer ${token}` } }
}

for (const { name, skip, start } of IN_FRONT)
  t.test(`${name} in front`, { skip }, async t => {
    const { fixture, backend } = await startBoth(t)
    const url = await start(t, { gateway: fixture.url })
    const { headers } = await bearer(fixture)
    const way = { url, path: '/api/v1/c/x', headers, backend }
    expectSizes(t, way)
    expectStreams(t, way)
  })

for (const { name, skip, start } of FORWARD_AUTH)
  t.test(`${name} that asks /verify`, { skip }, async t => {
    const { fixture, backend } = await startBoth(t)
    const pages = { folder: temporaryFolder(t, 'pages'), url: backend.url }
    const url = await start(t, { gateway: fixture.internal, backend: backend.url, pages })
    const { headers } = await bearer(fixture)
    const way = { url, path: '/api/v1/c/x', headers, backend }
    expectSizes(t, way)
    expectStreams(t, way)
  })

for (const { name, skip, start } of WEB_APPLICATION)
  t.test(`${name} before a web application`, { skip }, async t => {
    const browser = { business: 'on' }
    const { fixture, backend, live } = await startBoth(t, {
      browser,
      gate: { pages: [{ path: '/wiki/*', needs: 'business' }] },
    })
    const url = await start(t, { gateway: fixture.internal, backend: backend.url, signIn: fixture.url })
    const { token, headers } = await bearer(fixture)
    const session = await fixture.gateway.sides.business.login(undefined, '7')
    const wiki = { url, path: '/wiki/x', headers: { authorization: `Bearer ${session}` }, backend }
    const api = { url, path: '/api/v1/c/x', headers, backend }
    t.test('to the application', async t => {
      expectSizes(t, wiki)
      expectStreams(t, wiki)
    })
    t.test('to the gateway beside it', async t => {
      expectSizes(t, api)
      expectStreams(t, api)
      t.test('opens WebSockets', async t => {
        await openEnd(t, url, { token })
        t.equal(live.handshakes.length, 1)
      })
    })

    t.test('leads people from a long address to the sign-in', async t => {
      const path = `/wiki/a?b=${'/'.repeat(4 * 1024)}`
      const answer = await call(url, { path, headers: { accept: 'text/html' } })
      t.ok(answer.status === 302 || answer.status === 303, `${answer.status}`)
    })
  })

const exampleOf = (file: string): string => readFileSync(join(ROOT, 'config/examples', file), 'utf8')

/** The gateway closes idle connections after 65 s. These limits are longer than a test: it reads them. */
t.test('a proxy closes its idle connections to the gateway before the gateway does', async t => {
  for (const file of ['in-front', 'forward-auth', 'web-application']) {
    const { clusters } = parse(exampleOf(`envoy/${file}.yaml`)).static_resources
    for (const { name, typed_extension_protocol_options: options } of clusters) {
      if (!name.startsWith('dualgate')) continue
      const [{ common_http_protocol_options: limits } = {}] = Object.values<Record<string, unknown>>(options ?? {})
      t.same(limits, { idle_timeout: '60s' }, `Envoy, ${file}: ${name}`)
    }
  }
  for (const file of ['caddy/in-front.Caddyfile', 'caddy/web-application.Caddyfile', 'docker-compose/Caddyfile'])
    t.match(exampleOf(file), /reverse_proxy [^{}]*:8080 \{[^{}]*transport http \{[^{}]*keepalive 60s/, file)
  const { forwardingTimeouts } = parse(exampleOf('traefik/traefik.yaml')).serversTransport
  t.equal(forwardingTimeouts.idleConnTimeout, '60s')
})

t.test('a proxy lets a stream be silent for an hour, and an upload take longer than a minute', async t => {
  for (const file of ['envoy/forward-auth.yaml', 'envoy/web-application.yaml', 'assertions/envoy.yaml'])
    for (const [route] of exampleOf(file).matchAll(/route: \{ cluster: (?!pages).*\}/g))
      t.match(route, 'timeout: 0s, idle_timeout: 3600s', `${file}: ${route}`)
  for (const file of ['forward-auth', 'web-application'])
    for (const [block] of exampleOf(`nginx/${file}.conf`).matchAll(/^ {2}location [^@\n]*\{\n.*?^ {2}\}/gms))
      if (block.includes('proxy_pass') && !block.includes('internal;')) t.match(block, 'proxy_read_timeout 1h;', file)
  const { web } = parse(exampleOf('traefik/traefik.yaml')).entryPoints
  t.equal(web.transport.respondingTimeouts.readTimeout, '0s')
})
