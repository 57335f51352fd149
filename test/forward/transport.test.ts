import { execFileSync } from 'node:child_process'
import dns from 'node:dns'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttpServer, type Server } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { call } from '../support/client.ts'
import { openForwardFixture, TOKEN, type WrittenUpstream } from '../support/forward-fixture.ts'
import { freePort } from '../support/ports.ts'
import { until } from '../support/until.ts'

const C = '/api/v1/c/things'

const FOLDER = mkdtempSync(join(tmpdir(), 'dualgate-transport-'))
t.teardown(() => rmSync(FOLDER, { recursive: true, force: true }))

async function before(t: Test, upstream: WrittenUpstream) {
  const fixture = await openForwardFixture({ upstreams: [upstream] })
  t.teardown(() => fixture.close())
  return {
    ...fixture,
    ask: (headers: Record<string, string> = {}) => call(fixture.url, { path: C, token: TOKEN.consumer, headers }),
  }
}

/** Listens, and ends with the test. */
async function served(t: Test, server: Server, at: string | { port: number; host: string }): Promise<number> {
  await new Promise<void>(resolve => server.listen(at, () => resolve()))
  t.teardown(
    () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  return (server.address() as AddressInfo).port ?? 0
}

t.test('a Unix socket is a target: its host is localhost, or the client’s', async t => {
  const path = join(FOLDER, 'app.sock')
  const hosts: unknown[] = []
  const backend = createHttpServer((request, response) => {
    hosts.push(request.headers.host)
    response.end('through the socket')
  })
  await served(t, backend, path)
  const { ask } = await before(t, { target: `unix:${path}` })
  const headers = { host: 'shop.example' }
  t.match(await ask(headers), { status: 200, text: 'through the socket' })
  t.match(await (await before(t, { target: `unix:${path}`, host: 'preserve' })).ask(headers), { status: 200 })
  t.same(hosts, ['localhost', 'shop.example'])
})

t.test('a Unix socket without a listener is 502, and its path is not shown to the client', async t => {
  const { ask } = await before(t, { target: `unix:${join(FOLDER, 'absent.sock')}` })
  const answer = await ask()
  t.equal(answer.status, 502)
  t.notMatch(answer.text, /sock/)
})

const openssl = (...words: string[]): void => void execFileSync('openssl', words, { cwd: FOLDER, stdio: 'ignore' })
const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']

/** An authority, or a certificate that it issued. Files in the folder, by name. */
function certify(name: string, issuer?: string): { cert: string; key: string } {
  const names = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  const by = issuer === undefined ? [] : ['-CA', `${issuer}.pem`, '-CAkey', `${issuer}.key`]
  const constraint = ['-addext', `basicConstraints=critical,CA:${issuer === undefined ? 'TRUE' : 'FALSE'}`]
  openssl('req', '-x509', ...CURVE, ...names, ...constraint, ...by, '-keyout', `${name}.key`, '-out', `${name}.pem`)
  return { cert: join(FOLDER, `${name}.pem`), key: join(FOLDER, `${name}.key`) }
}

const OURS = certify('authority.internal')
const THEIRS = certify('authority.example')
const ORDERS = certify('orders.internal', 'authority.internal')
const GATEWAY = certify('gateway.internal', 'authority.internal')

/** A backend that speaks HTTPS as `orders.internal`. */
async function secure(t: Test, options: ServerOptions = {}) {
  const names: unknown[] = []
  const peers: unknown[] = []
  const server = createTlsServer(
    { cert: readFileSync(ORDERS.cert), key: readFileSync(ORDERS.key), ...options },
    (request, response) => {
      const socket = request.socket as TLSSocket & { servername: unknown }
      names.push(socket.servername)
      peers.push(socket.getPeerCertificate()?.subject?.CN)
      response.end('secure')
    },
  )
  const port = await served(t, server as unknown as Server, { port: 0, host: '127.0.0.1' })
  return { target: `https://127.0.0.1:${port}`, names, peers }
}

t.test('a target can be verified with a configured authority and server name', async t => {
  const { target, names } = await secure(t)
  const { ask } = await before(t, { target, tls: { ca: OURS.cert, server_name: 'orders.internal' } })
  for (let i = 0; i < 3; i++) t.match(await ask(), { status: 200, text: 'secure' })
  t.same(new Set(names), new Set(['orders.internal']))
})

t.test('an address of a name that is looked up is verified by the name, and requested by it', async t => {
  const { target, names } = await secure(t)
  const port = new URL(target).port
  const lookUp = async (): Promise<string[]> => ['127.0.0.1']
  for (const [name, status] of [
    ['orders.internal', 200],
    ['payments.internal', 502],
  ] as const) {
    const tls = { ca: OURS.cert }
    const fixture = await openForwardFixture({
      upstreams: [{ target: `https://${name}:${port}`, resolve: 60_000, tls }],
      lookUp,
    })
    t.teardown(() => fixture.close())
    t.equal((await call(fixture.url, { path: C, token: TOKEN.consumer })).status, status, name)
  }
  t.same(names, ['orders.internal'])
})

t.test('another name, another authority, or that of the system are not trusted', async t => {
  const { target, names } = await secure(t)
  const UNFIT: [NonNullable<WrittenUpstream['tls']>, code: string][] = [
    [{ ca: OURS.cert }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    [{ ca: OURS.cert, server_name: 'payments.internal' }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    [{ ca: THEIRS.cert, server_name: 'orders.internal' }, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    [{ server_name: 'orders.internal' }, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ]
  for (const [tls, code] of UNFIT) {
    const { ask, log } = await before(t, { target, tls })
    t.equal((await ask({ host: 'orders.internal' })).status, 502)
    t.match(
      log.find(line => line.reason === 'BAD_GATEWAY'),
      { err: { cause: { code } } },
    )
  }
  t.same(names, [], 'and get no request')
})

t.test('a target that requires a client certificate gets the gateway’s', async t => {
  const demanding = { requestCert: true, rejectUnauthorized: true, ca: readFileSync(OURS.cert) }
  const { target, peers } = await secure(t, demanding)
  const known = { ca: OURS.cert, server_name: 'orders.internal' }
  t.equal((await (await before(t, { target, tls: known })).ask()).status, 502)
  t.match(await (await before(t, { target, tls: { ...known, ...GATEWAY } })).ask(), { status: 200 })
  t.same(peers, ['gateway.internal'])
})

/** Answers look-ups of one name by an address that can change; gone with the test. */
function nameOf(t: Test, name: string, address: { is: string }): void {
  const { lookup } = dns
  t.teardown(() => {
    dns.lookup = lookup
  })
  dns.lookup = ((asked: string, options: dns.LookupOptions, done: (...result: unknown[]) => void) => {
    if (asked !== name) return lookup(asked, options, done as never)
    const found = { address: address.is, family: 4 }
    process.nextTick(() => (options.all ? done(null, [found]) : done(null, found.address, found.family)))
  }) as typeof dns.lookup
}

t.test('a changed address of a name is used, even if the old connection still works', async t => {
  const serve = (text: string) =>
    createHttpServer({ keepAliveTimeout: 60_000 }, (_request, response) => response.end(text))
  const [first, second] = [serve('first'), serve('second')]
  const port = await served(t, first, { port: await freePort(), host: '127.0.0.1' })
  await served(t, second, { port, host: '127.0.0.2' })
  const address = { is: '127.0.0.1' }
  nameOf(t, 'backend.internal', address)
  const { ask } = await before(t, {
    target: `http://backend.internal:${port}`,
    connections: { lifetime: 200, idle: 60_000 },
  })
  t.equal((await ask()).text, 'first')
  t.equal((await ask()).text, 'first')
  address.is = '127.0.0.2'
  t.ok(await until(async () => (await ask()).text === 'second'), 'under load')
  address.is = '127.0.0.1'
  t.ok(
    await until(async () => {
      await new Promise(resolve => setTimeout(resolve, 300))
      return (await ask()).text === 'first'
    }),
    'after a pause',
  )
})

t.test('a long answer outlives the lifetime of its connection', async t => {
  const backend = createHttpServer((_request, response) => {
    let parts = 0
    const timer = setInterval(() => {
      response.write('part')
      if (++parts < 10) return
      clearInterval(timer)
      response.end()
    }, 50)
  })
  const port = await served(t, backend, { port: 0, host: '127.0.0.1' })
  nameOf(t, 'backend.internal', { is: '127.0.0.1' })
  const { ask } = await before(t, { target: `http://backend.internal:${port}`, connections: { lifetime: 100 } })
  t.equal((await ask()).text, 'part'.repeat(10))
})
