import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { openRawClient } from '../support/client.ts'
import { openFixture, startFixture } from '../support/gateway-fixture.ts'
import { until } from '../support/until.ts'

t.jobs = 14

/* How long the public listener waits for its clients. */

/** Also of a connection that the gateway refuses while it is made. */
const closeOf = (socket: Socket): Promise<unknown> =>
  new Promise(resolve => void socket.on('error', () => {}).once('close', resolve))

/** Sends a request. The first part of what comes back; nothing when the gateway closes the connection. */
async function ask(socket: Socket): Promise<string> {
  const closed = closeOf(socket).then(() => '')
  const data = new Promise<string>(resolve => void socket.once('data', chunk => resolve(String(chunk))))
  socket.write('GET /api/v1/public/b/x HTTP/1.1\r\nHost: x\r\n\r\n')
  return Promise.race([data, closed])
}

async function openImpatient(t: Test, timeouts: Record<string, string>, listen: Record<string, unknown> = {}) {
  const fixture = await openFixture(t, { config: { listen: { host: '127.0.0.1', port: 0, timeouts, ...listen } } })
  const { port } = new URL(fixture.url)
  return {
    fixture,
    /** What came back until the gateway ended the connection. */
    async say(speak: (socket: Socket) => void): Promise<string> {
      const { socket, heard } = openRawClient(t, Number(port))
      const closed = closeOf(socket)
      speak(socket)
      await closed
      return heard()
    },
  }
}

t.test('a head that arrives byte by byte ends with a timeout', async t => {
  const { say } = await openImpatient(t, { headers: '1s' })
  const heard = await say(socket => {
    socket.write('GET /docs HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    const timer = setInterval(() => socket.write('x'), 100)
    socket.once('close', () => clearInterval(timer))
  })
  t.match(heard, /^HTTP\/1\.1 408 /)
})

t.test('a silent connection is closed', async t => {
  const { say } = await openImpatient(t, { headers: '1s' })
  t.match(await say(() => {}), /^(HTTP\/1\.1 408 |$)/)
})

t.test('a body that stops ends with a timeout', async t => {
  const { say, fixture } = await openImpatient(t, { body: '500ms' })
  const heard = await say(socket =>
    socket.write(
      'POST /api/v1/public/b/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    ),
  )
  t.match(heard, /^HTTP\/1\.1 408 .*connection: close.*"code":408/is)
  t.equal((await fixture.get('/api/v1/public/b/x')).status, 200, 'others are served')
})

t.test('a body above the lowest rate is accepted', async t => {
  // For longer than the time limit, and far above the lowest rate.
  const { say } = await openImpatient(t, { body: '3s' }, { min_rate: '1B' })
  const LENGTH = 40
  const heard = await say(socket => {
    socket.write(
      `POST /api/v1/public/b/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${LENGTH}\r\n\r\n`,
    )
    let sent = 0
    const timer = setInterval(() => (sent++ < LENGTH ? socket.write('x') : clearInterval(timer)), 100)
    socket.once('close', () => clearInterval(timer))
  })
  t.match(heard, /^HTTP\/1\.1 200 /)
})

t.test('a body below the lowest rate is refused, and frees its upstream connection', async t => {
  const { say, fixture } = await openImpatient(t, { body: '1s' }, { min_rate: '1KiB' })
  const heard = await say(socket => {
    socket.write('POST /api/v1/public/b/x HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n')
    const timer = setInterval(() => socket.write('x'), 100)
    socket.once('close', () => clearInterval(timer))
  })
  t.match(heard, /^HTTP\/1\.1 408 .*"code":408/s)
  t.ok(await until(() => fixture.upstream.open === 0))
  t.ok(fixture.log.some(line => line.includes('"refused":"REQUEST_TIMEOUT"')))
})

t.test('a large body that stops is cut off at the upstream too', async t => {
  const { say, fixture } = await openImpatient(t, { body: '1s' })
  fixture.upstream.take = request => void request.resume()
  const heard = await say(socket =>
    socket.write(
      `POST /api/v1/public/b/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(200_000)}`,
    ),
  )
  t.match(heard, /^HTTP\/1\.1 408 /)
  t.equal(fixture.upstream.requests.length, 1)
  t.ok(await until(() => fixture.upstream.open === 0))
})

t.test('an answer that is read below the lowest rate is cut off, and frees its connection', async t => {
  const { fixture } = await openImpatient(t, { body: '1s' })
  fixture.upstream.answer = (_request, response) => response.end(Buffer.alloc(30_000_000))
  const socket = connect(Number(new URL(fixture.url).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  socket.pause()
  socket.write('GET /api/v1/public/b/x HTTP/1.1\r\nHost: x\r\n\r\n')
  t.ok(await until(() => fixture.upstream.open === 1))
  t.ok(await until(() => fixture.upstream.open === 0))
  const { values } = (await fixture.gateway.metrics()).find(({ name }) => name === 'dualgate_connections_closed_total')!
  t.same(
    values.map(({ labels, value }) => [labels.reason, value]),
    [['slow_reader', 1]],
  )
})

t.test('a stream of events that stays silent is not slow', async t => {
  const { fixture } = await openImpatient(t, { body: '500ms' })
  let goOn = (): void => {}
  fixture.upstream.answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: first\n\n')
    goOn = () => void response.end('data: last\n\n')
  }
  const { socket, heard } = openRawClient(t, Number(new URL(fixture.url).port))
  socket.write('GET /api/v1/public/b/x HTTP/1.1\r\nHost: x\r\n\r\n')
  t.ok(await until(() => heard().includes('first')))
  await new Promise(resolve => setTimeout(resolve, 2500))
  goOn()
  t.ok(await until(() => heard().includes('last')))
})

t.test('slow bodies do not keep the gateway from its end', async t => {
  const fixture = await startFixture()
  const { port } = new URL(fixture.url)
  /** The ports of the clients whose requests the gateway has begun. */
  const begun = new Set<number | undefined>()
  const note = (message: unknown): void => void begun.add((message as { socket: Socket }).socket.remotePort)
  subscribe('http.server.request.start', note)
  t.teardown(() => unsubscribe('http.server.request.start', note))
  const sockets = ['/api/v1/public/b/login', '/api/v1/public/b/x'].map(path => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`)
    const timer = setInterval(() => socket.write(' '), 500)
    socket.once('close', () => clearInterval(timer))
    return socket.resume()
  })
  const closed = sockets.map(closeOf)
  await until(() => sockets.every(({ localPort }) => localPort !== undefined && begun.has(localPort)))
  await fixture.close()
  await Promise.all(closed)
  t.pass('though a byte of each came every now and then')
})

t.test('an idle connection is ended', async t => {
  const { say } = await openImpatient(t, { keep_alive: '300ms' })
  t.match(await say(socket => socket.write('GET /api/v1/public/b/x HTTP/1.1\r\nHost: x\r\n\r\n')), /^HTTP\/1\.1 200 /)
})

t.test('connections beyond the limit are closed, and logged', async t => {
  const fixture = await openFixture(t, { config: { listen: { host: '127.0.0.1', port: 0, max_connections: 2 } } })
  const { port } = new URL(fixture.url)
  const open = (): Socket => {
    const socket = connect(Number(port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    return socket
  }
  const [first, second] = [open(), open()]
  t.match(await ask(first), /^HTTP\/1\.1 200 /)
  t.match(await ask(second), /^HTTP\/1\.1 200 /)
  t.notMatch(await ask(open()), /^HTTP/)
  t.ok(fixture.log.some(line => line.includes('a connection was closed')))
  const closed = closeOf(first)
  first.destroy()
  await closed
  t.match(await ask(second), /^HTTP\/1\.1 200 /, 'those that are open are served')
})

t.test('one client address cannot use every connection, others are served, and this is logged and counted', async t => {
  const limit = 3
  const fixture = await openFixture(t, {
    config: { listen: { host: '127.0.0.1', port: 0, max_connections_per_address: limit } },
  })
  const { port } = new URL(fixture.url)
  const served = async (localAddress: string): Promise<Socket | null> => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress })
    t.teardown(() => socket.destroy())
    return /^HTTP\/1\.1 200 /.test(await ask(socket)) ? socket : null
  }
  const own: (Socket | null)[] = []
  for (let i = 0; i < limit; i++) own.push(await served('127.0.0.1'))
  t.ok(own.every(socket => socket !== null))
  const began = performance.now()
  for (let i = 0; i < 5; i++) t.equal(await served('127.0.0.1'), null)
  t.ok(await served('127.0.0.2'), 'another address')
  own[0]!.destroy()
  t.ok(await until(async () => (await served('127.0.0.1')) !== null), 'after one of its own has ended')
  const lines = fixture.log.filter(line => line.includes('its client address has too many'))
  // One that names the first, and every ten seconds one with their number and one for the next.
  const most = 1 + 2 * Math.floor((performance.now() - began) / 10_000)
  t.ok(lines.length >= 1 && lines.length <= most, `in ${lines.length} lines, ${most} at most`)
  t.match(JSON.parse(lines[0]!), { address: '127.0.0.1', max_connections_per_address: limit })
  const { values } = (await fixture.gateway.metrics()).find(({ name }) => name === 'dualgate_connections_closed_total')!
  t.equal(values[0]!.labels.reason, 'too_many_of_address')
})

t.test('a trusted proxy may hold more connections than a client', async t => {
  const fixture = await openFixture(t, {
    config: {
      listen: { host: '127.0.0.1', port: 0, max_connections_per_address: 2 },
      trusted_proxies: ['127.0.0.0/30'],
    },
  })
  const { port } = new URL(fixture.url)
  for (let i = 0; i < 10; i++) {
    const socket = connect(Number(port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    t.match(await ask(socket), /^HTTP\/1\.1 200 /)
  }
})
