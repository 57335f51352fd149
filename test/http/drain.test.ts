import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createDrain } from '../../src/http/server/drain.ts'
import { until } from '../support/forward-fixture.ts'

/* The end of a server that fails no request. */

const GRACE = 500
const ASK = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

interface Client {
  socket: Socket
  heard: string
  isEnded: boolean
}

async function openServer(t: Test, answer: RequestListener = (_request, response) => void response.end('answer')) {
  const server = createServer(answer)
  const drain = createDrain(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.closeAllConnections())
  const { port } = server.address() as AddressInfo

  async function connected(): Promise<Client> {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    const client: Client = { socket, heard: '', isEnded: false }
    socket.on('data', chunk => {
      client.heard += chunk
    })
    socket.on('close', () => {
      client.isEnded = true
    })
    return client
  }
  return { drain, connected, port }
}

t.test('during a drain a kept connection gets its answer with Connection: close', async t => {
  const { drain, connected } = await openServer(t)
  const client = await connected()
  client.socket.write(ASK)
  t.ok(await until(() => client.heard.endsWith('answer')))
  t.match(client.heard, /connection: keep-alive/i)

  const drained = drain(10 * GRACE)
  client.heard = ''
  client.socket.write(ASK)
  t.ok(await until(() => client.isEnded))
  t.match(client.heard, /^HTTP\/1\.1 200 .*connection: close.*answer/is)
  await drained
})

t.test('during a drain new connections are refused', async t => {
  const { drain, port } = await openServer(t)
  await drain(GRACE)
  const late = connect(port, '127.0.0.1')
  const [fault] = await once(late, 'error')
  t.equal(fault.code, 'ECONNREFUSED')
})

t.test('idle connections are closed after the grace period, and so are unused ones', async t => {
  const { drain, connected } = await openServer(t)
  const [idle, silent] = [await connected(), await connected()]
  idle.socket.write(ASK)
  t.ok(await until(() => idle.heard.endsWith('answer')))
  let isDrained = false
  const started = performance.now()
  const drained = drain(GRACE).then(() => {
    isDrained = true
  })
  t.ok(await until(() => idle.isEnded && silent.isEnded))
  t.ok(performance.now() - started >= GRACE - 10, 'not before the grace is over')
  await drained
  t.ok(isDrained)
})

t.test('a drain waits for requests in progress', async t => {
  let finish = (): void => {}
  const { drain, connected } = await openServer(t, (_request, response) => {
    response.write('the beginning, ')
    finish = () => void response.end('the end')
  })
  const client = await connected()
  client.socket.write(ASK)
  t.ok(await until(() => client.heard.includes('the beginning')))
  const drained = drain(0)
  t.equal(await Promise.race([drained, new Promise(resolve => setTimeout(resolve, 3 * GRACE, 'waiting'))]), 'waiting')
  finish()
  await drained
  t.match(client.heard, 'the end')
})
