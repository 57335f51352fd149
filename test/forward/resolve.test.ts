import { createServer, type Server } from 'node:http'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import type { LookUp } from '../../src/upstream/look-ups.ts'
import { call } from '../support/client.ts'
import { openForwardFixture, TOKEN, type WrittenUpstream } from '../support/forward-fixture.ts'
import { freePort } from '../support/ports.ts'
import { PATIENCE, until } from '../support/until.ts'

/* Targets whose name has several addresses: servers on addresses of the loopback, and a look-up that the test decides. */

const C = '/api/v1/c/x'

/** Idle connections that no time limit ends while a test waits. */
const LASTING = { idle: 600_000, lifetime: 600_000 }

interface Servers {
  port: number
  /** The `Host` headers that arrived, and where. */
  arrived: [ip: string, host: string][]
  /** Holds the answers of one address back. */
  held: Map<string, () => void>
  /** How many connections an address has. */
  connections: Map<string, () => Promise<number>>
}

/** Servers at the same port of several addresses, each of which answers with its address. */
async function startServers(t: Test, ips: readonly string[]): Promise<Servers> {
  const servers: Servers = { port: await freePort(), arrived: [], held: new Map(), connections: new Map() }
  for (const ip of ips) {
    const server: Server = createServer((request, response) => {
      servers.arrived.push([ip, request.headers.host ?? ''])
      if (request.url === `${C}/held`) servers.held.set(ip, () => response.end(ip))
      else if (request.url === '/healthz' && ip === '127.0.0.3') response.writeHead(500).end()
      else response.end(ip)
    })
    server.keepAliveTimeout = 0
    await new Promise<void>(resolve => server.listen(servers.port, ip, resolve))
    const count = promisify(server.getConnections.bind(server))
    servers.connections.set(ip, async () => (await count()) ?? 0)
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
  }
  return servers
}

async function open(t: Test, written: WrittenUpstream = {}) {
  const servers = await startServers(t, ['127.0.0.1', '127.0.0.2', '127.0.0.3'])
  const names = { found: ['127.0.0.2', '127.0.0.1'] as readonly string[] | Error, asked: 0 }
  const lookUp: LookUp = async name => {
    names.asked++
    if (name !== 'orders.internal') throw new Error(`asked for ${name}`)
    if (names.found instanceof Error) throw names.found
    return names.found
  }
  const fixture = await openForwardFixture({
    upstreams: [{ target: `http://orders.internal:${servers.port}`, resolve: 10, connections: LASTING, ...written }],
    lookUp,
  })
  t.teardown(() => fixture.close())
  const ask = async (path = C, token = TOKEN.consumer) => (await call(fixture.url, { path, token })).text
  /** The addresses that so many requests reach. */
  const reached = async (count = 6): Promise<string[]> => {
    const texts: string[] = []
    for (let i = 0; i < count; i++) texts.push(await ask())
    return texts.sort()
  }
  /** Until the addresses of a change are the targets. */
  const change = async (found: readonly string[] | Error): Promise<void> => {
    const before = names.asked
    names.found = found
    await until(() => names.asked >= before + 2)
  }
  const targets = () => fixture.table.status()[0]!.targets
  return { fixture, servers, names, ask, reached, change, targets }
}

t.test('each address of a name is a target, with the Host of the name', async t => {
  const { servers, reached, targets } = await open(t)
  t.same(await reached(4), ['127.0.0.1', '127.0.0.1', '127.0.0.2', '127.0.0.2'])
  t.same(new Set(servers.arrived.map(([, host]) => host)), new Set([`orders.internal:${servers.port}`]))
  t.same(
    targets().map(({ target }) => target),
    ['127.0.0.1', '127.0.0.2'].map(ip => `http://orders.internal:${servers.port} (${ip})`),
  )
})

t.test('addresses that come and go are taken up while the gateway runs', async t => {
  const { fixture, reached, change } = await open(t)
  await change(['127.0.0.3', '127.0.0.1'])
  t.same(await reached(4), ['127.0.0.1', '127.0.0.1', '127.0.0.3', '127.0.0.3'])
  await change(['127.0.0.3'])
  t.same(await reached(2), ['127.0.0.3', '127.0.0.3'])
  t.match(
    fixture.log.filter(({ msg }) => msg === 'addresses of a target changed').map(({ addresses }) => addresses),
    [['127.0.0.1', '127.0.0.2'], ['127.0.0.1', '127.0.0.3'], ['127.0.0.3']],
  )
})

t.test('look-ups that fail or find nothing keep the last addresses, and are logged once', async t => {
  const { fixture, names, reached, change } = await open(t)
  const failures = () => fixture.log.filter(({ msg }) => msg === 'look-up of a target failed')
  await change(Object.assign(new Error('getaddrinfo ENOTFOUND orders.internal'), { code: 'ENOTFOUND' }))
  t.same(await reached(2), ['127.0.0.1', '127.0.0.2'])
  await until(() => names.asked > 5)
  t.match(failures(), [{ level: 40, upstream: 'backend', err: { code: 'ENOTFOUND' } }])
  t.equal(failures().length, 1)
  await change(['127.0.0.1'])
  await change([])
  t.same(await reached(2), ['127.0.0.1', '127.0.0.1'])
  t.equal(failures().length, 2)
})

t.test('a request at an address that is gone is finished there, and its connection is closed', async t => {
  const { fixture, servers, ask, change } = await open(t, { balance: 'round-robin' })
  const answers = [ask(`${C}/held`), ask(`${C}/held`)]
  t.ok(await until(() => servers.held.size === 2))
  await change(['127.0.0.1'])
  t.equal(fixture.table.upstreams[0]!.targets.length, 1)
  for (const end of servers.held.values()) end()
  t.same((await Promise.all(answers)).sort(), ['127.0.0.1', '127.0.0.2'])
  t.equal(await ask(), '127.0.0.1')
  const connectionsOf = (ip: string): Promise<number> => servers.connections.get(ip)!()
  t.ok(await until(async () => (await connectionsOf('127.0.0.2')) === 0))
  t.equal(await connectionsOf('127.0.0.1'), 1)
})

t.test('an idle connection to an address that is gone is closed at once', async t => {
  const { servers, reached, change } = await open(t)
  await reached(4)
  const connectionsOf = (ip: string): Promise<number> => servers.connections.get(ip)!()
  t.equal(await connectionsOf('127.0.0.2'), 1)
  await change(['127.0.0.1'])
  t.ok(await until(async () => (await connectionsOf('127.0.0.2')) === 0))
})

t.test('a target that stays keeps its health; one that comes back begins anew', async t => {
  const { fixture, change, targets } = await open(t, { ejection: { failures: 1, duration: 60_000, limit: 60_000 } })
  const [first, second] = fixture.table.upstreams[0]!.targets
  for (const target of [first!, second!]) target.failed(target.health.era, new Error('failed'))
  await change(['127.0.0.1', '127.0.0.3'])
  t.same(
    targets().map(({ state }) => state),
    ['ejected', 'up'],
  )
  t.equal(fixture.table.upstreams[0]!.targets[0], first)
  await change(['127.0.0.1', '127.0.0.2'])
  t.same(
    targets().map(({ state }) => state),
    ['ejected', 'up'],
  )
})

t.test('each address is checked', async t => {
  const health = { path: '/healthz', interval: 10, timeout: PATIENCE, failures: 1, successes: 1 }
  const { servers, change, reached, targets } = await open(t, { health })
  await change(['127.0.0.1', '127.0.0.3'])
  t.ok(await until(() => targets()[1]!.state === 'unhealthy'))
  t.same(await reached(3), ['127.0.0.1', '127.0.0.1', '127.0.0.1'])
  t.ok(servers.arrived.some(([ip]) => ip === '127.0.0.3'))
})

t.test('with a hash, only the users of an address that goes move', async t => {
  const { ask, change } = await open(t, { balance: { hash: 'login-id' } })
  const users = Array.from({ length: 40 }, (_, i) => `CONSUMER.user-${i}.signed`)
  const placesOf = () => Promise.all(users.map(user => ask(C, user)))
  await change(['127.0.0.1', '127.0.0.2', '127.0.0.3'])
  const before = await placesOf()
  t.equal(new Set(before).size, 3)
  await change(['127.0.0.1', '127.0.0.3'])
  const after = await placesOf()
  t.notOk(after.includes('127.0.0.2'))
  t.ok(before.every((place, i) => place === '127.0.0.2' || place === after[i]))
  await change(['127.0.0.3', '127.0.0.2', '127.0.0.1'])
  t.same(await placesOf(), before)
})

t.test('a name has its weight for each of its addresses', async t => {
  const servers = await startServers(t, ['127.0.0.1', '127.0.0.2', '127.0.0.3'])
  const targets = [{ url: `http://orders.internal:${servers.port}`, weight: 3 }, `http://127.0.0.3:${servers.port}`]
  const fixture = await openForwardFixture({
    upstreams: [{ targets, resolve: 60_000 }],
    lookUp: async () => ['127.0.0.1', '127.0.0.2'],
  })
  t.teardown(() => fixture.close())
  for (let i = 0; i < 14; i++) await call(fixture.url, { path: C, token: TOKEN.consumer })
  const count = (ip: string): number => servers.arrived.filter(([at]) => at === ip).length
  t.same([count('127.0.0.1'), count('127.0.0.2'), count('127.0.0.3')], [6, 6, 2])
})

t.test('a name that has no address when the gateway starts is one target, which connections resolve', async t => {
  const servers = await startServers(t, ['127.0.0.1'])
  const fixture = await openForwardFixture({
    upstreams: [{ target: `http://localhost:${servers.port}`, resolve: 60_000 }],
    lookUp: async () => Promise.reject(new Error('SERVFAIL')),
  })
  t.teardown(() => fixture.close())
  t.equal((await call(fixture.url, { path: C, token: TOKEN.consumer })).text, '127.0.0.1')
  t.match(fixture.table.status()[0]!.targets, [{ target: `http://localhost:${servers.port}` }])
})

t.test('a look-up that does not end delays the start only for a while', async t => {
  const servers = await startServers(t, ['127.0.0.1'])
  const fixture = await openForwardFixture({
    upstreams: [{ target: `http://localhost:${servers.port}`, resolve: 60_000, timeouts: { connect: 50 } }],
    lookUp: () => new Promise(() => {}),
  })
  t.teardown(() => fixture.close())
  // The limit is that of connections, too: on a busy machine one of them may take longer.
  t.ok(await until(async () => (await call(fixture.url, { path: C, token: TOKEN.consumer })).text === '127.0.0.1'))
})
