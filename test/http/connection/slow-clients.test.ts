import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { serveInTurn } from '../../../src/http/server/connection/connection.ts'
import { SlowClients } from '../../../src/http/server/connection/slow-clients.ts'
import { createDrain } from '../../../src/http/server/drain.ts'
import { until } from '../../support/until.ts'

/* Clients that are slow, by a clock of the test's own. */

const LIMIT = 30_000

async function open(t: Test, answer: RequestListener, isPressed = false) {
  const server = createServer({ keepAliveTimeout: 60_000 }, answer)
  const connections = serveInTurn(server)
  const drain = createDrain(server)
  const ended: string[] = []
  const slow = new SlowClients(connections, {
    limit: LIMIT,
    minRate: 1000,
    isPressed: () => isPressed,
    onSlow: what => ended.push(what),
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const socket: Socket = connect(port, '127.0.0.1').on('error', () => {})
  t.teardown(() => socket.destroy())
  let closed = false
  socket.on('close', () => {
    closed = true
  })
  await once(socket, 'connect')
  return {
    connections,
    drain,
    ended,
    socket,
    isClosed: () => closed,
    /** Lets so many seconds pass, with `during` in each. */
    async pass(seconds: number, during = async (): Promise<void> => {}) {
      for (let i = 0; i < seconds && ended.length === 0; i++) {
        await during()
        slow.check(1000)
      }
    },
  }
}

const arrived = (connections: ReadonlySet<{ request: unknown }>) =>
  until(() => [...connections].some(({ request }) => request !== null))

t.test('a body for an own route must arrive within ten seconds in all', async t => {
  const { socket, connections, pass, ended, isClosed } = await open(t, request => void request.resume())
  let sent = 0
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n')
  t.ok(await arrived(connections))
  const [connection] = connections
  const send = async (): Promise<void> => {
    const before = connection!.socket.bytesRead
    socket.write('x'.repeat(5000))
    sent++
    t.ok(await until(() => connection!.socket.bytesRead > before))
  }
  await pass(9, send)
  t.same(ended, [])
  await pass(2, send)
  t.same(ended[0], 'slow_body')
  t.ok(await until(isClosed))
  t.ok(sent >= 10)
})

t.test('a body that is forwarded may take longer, as long as it is not below the lowest rate', async t => {
  const { socket, connections, pass, ended } = await open(t, request => void request.resume())
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n')
  t.ok(await arrived(connections))
  const [connection] = connections
  connection!.forwardsBody()
  const send = (bytes: number) => async (): Promise<void> => {
    const before = connection!.socket.bytesRead
    socket.write('x'.repeat(bytes))
    t.ok(await until(() => connection!.socket.bytesRead >= before + bytes))
  }
  await pass(60, send(1500))
  t.same(ended, [])
  await pass(100, send(10))
  t.same(ended[0], 'slow_body')
})

t.test('a client that accepts nothing has less time while others wait for an upstream', async t => {
  for (const isPressed of [false, true]) {
    const { socket, pass, ended, connections } = await open(
      t,
      (_request, response) => void response.end(Buffer.alloc(30_000_000)),
      isPressed,
    )
    socket.pause()
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    t.ok(await arrived(connections))
    const [connection] = connections
    t.ok(await until(() => connection!.socket.writableLength > 0))
    await pass(2)
    t.same(ended, [])
    await pass(3)
    t.same(ended, isPressed ? ['slow_reader'] : [])
    await pass(30)
    t.same(ended, ['slow_reader'])
  }
})

t.test('the rest of a body whose request is answered is read for five seconds', async t => {
  const { socket, pass, isClosed, connections } = await open(t, (_request, response) => void response.end('answer'))
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx')
  t.match(String((await once(socket, 'data'))[0]), /answer/)
  t.ok(await until(() => [...connections][0]!.isOnlyDiscarding))
  await pass(4)
  t.notOk(isClosed())
  await pass(1)
  t.ok(await until(isClosed))
})

t.test('a body whose request is answered does not keep a server from its end', async t => {
  const { socket, drain, isClosed } = await open(t, (_request, response) => void response.end('answer'))
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx')
  t.match(String((await once(socket, 'data'))[0]), /answer/)
  await drain(0, null)
  t.ok(await until(isClosed))
})
