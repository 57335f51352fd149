import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { serveInTurn } from '../../src/http/server/connection/connection.ts'
import { createDrain } from '../../src/http/server/drain.ts'
import { freePort } from '../support/ports.ts'
import { until } from '../support/until.ts'

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
  server.listen(await freePort(), '127.0.0.1')
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
  return { server, drain, connected, port }
}

t.test('during a drain a kept connection gets its answer with Connection: close', async t => {
  const { drain, connected } = await openServer(t)
  const client = await connected()
  client.socket.write(ASK)
  t.ok(await until(() => client.heard.endsWith('answer')))
  t.match(client.heard, /connection: keep-alive/i)

  const drained = drain(10 * GRACE, null)
  client.heard = ''
  client.socket.write(ASK)
  t.ok(await until(() => client.isEnded))
  t.match(client.heard, /^HTTP\/1\.1 200 .*connection: close.*answer/is)
  await drained
})

t.test('the last request that is in progress when a drain begins gets its answer with Connection: close', async t => {
  const finish: (() => void)[] = []
  const { server, drain, connected } = await openServer(
    t,
    (_request, response) => void finish.push(() => response.end('answer')),
  )
  serveInTurn(server)
  const client = await connected()
  client.socket.write(ASK + ASK)
  t.ok(await until(() => finish.length === 1))
  const drained = drain(10 * GRACE, null)
  finish[0]!()
  t.ok(await until(() => finish.length === 2))
  finish[1]!()
  t.ok(await until(() => client.isEnded))
  t.match(client.heard, /^HTTP\/1\.1 200 .*connection: keep-alive.*answerHTTP\/1\.1 200 .*connection: close.*answer$/is)
  await drained
})

t.test('during a drain new connections are refused', async t => {
  const { drain, port } = await openServer(t)
  await drain(GRACE, null)
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
  const drained = drain(GRACE, null).then(() => {
    isDrained = true
  })
  t.ok(await until(() => idle.isEnded && silent.isEnded))
  t.ok(performance.now() - started >= GRACE - 10, 'not before the grace is over')
  await drained
  t.ok(isDrained)
})

t.test('a request that arrived within the grace is answered, also if the process was held up beyond it', async t => {
  const { drain, connected } = await openServer(t)
  const client = await connected()
  client.socket.write(ASK)
  t.ok(await until(() => client.heard.endsWith('answer')))
  const drained = drain(GRACE, null)
  client.heard = ''
  client.socket.write(ASK)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * GRACE)
  t.ok(await until(() => client.isEnded))
  t.match(client.heard, /^HTTP\/1\.1 200 .*connection: close.*answer$/is)
  await drained
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
  const drained = drain(0, null)
  t.equal(await Promise.race([drained, new Promise(resolve => setTimeout(resolve, 3 * GRACE, 'waiting'))]), 'waiting')
  finish()
  await drained
  t.match(client.heard, 'the end')
})

t.test('an answer that is written goes on to a client that is still reading it', async t => {
  const whole = 32 * 1024 * 1024
  const { server, drain, connected } = await openServer(
    t,
    (_request, response) => void response.end(Buffer.alloc(whole, 'x')),
  )
  serveInTurn(server)
  const [slow, silent] = [await connected(), await connected()]
  slow.socket.write(ASK)
  t.ok(await until(() => slow.heard !== ''))
  slow.socket.pause()
  const drained = drain(0, null)
  t.ok(await until(() => silent.isEnded), 'idle connections have been closed')
  slow.socket.resume()
  t.ok(await until(() => slow.isEnded))
  t.equal(slow.heard.length - slow.heard.indexOf('xxx'), whole)
  t.equal(await drained, true)
})

t.test('a connection that is idle when the time is over was no request in progress', async t => {
  const { drain, connected } = await openServer(t)
  const client = await connected()
  client.socket.write(ASK)
  t.ok(await until(() => client.heard.endsWith('answer')))
  t.equal(await drain(10 * GRACE, GRACE), true)
  t.ok(await until(() => client.isEnded))
})

t.test('requests in progress are cut off when the time is over, and WebSockets are not', async t => {
  const { server, drain, connected } = await openServer(t, () => undefined)
  server.on('upgrade', (_request, socket) => {
    socket.on('end', () => socket.end()).resume()
    socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n')
  })
  const [waiting, upgraded] = [await connected(), await connected()]
  waiting.socket.write(ASK)
  upgraded.socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n')
  t.ok(await until(() => upgraded.heard.includes(' 101 ')))
  const drained = drain(0, GRACE)
  t.ok(await until(() => waiting.isEnded))
  t.equal(waiting.heard, '')
  t.notOk(upgraded.isEnded)
  upgraded.socket.destroy()
  t.equal(await drained, false, 'it says that a request had not finished')
})

t.test('a drain that cuts a request off is not over before the request is', async t => {
  let isClosed = false
  const { drain, connected } = await openServer(t, (_request, response) => {
    response.on('close', () => {
      isClosed = true
    })
    response.write('the beginning')
  })
  const client = await connected()
  client.socket.write(ASK)
  t.ok(await until(() => client.heard.includes('the beginning')))
  t.equal(await drain(0, GRACE), false)
  t.equal(isClosed, true)
})

t.test('a drain in which every request finishes says so', async t => {
  const { drain, connected } = await openServer(
    t,
    (_request, response) => void setTimeout(() => response.end('answer'), 50),
  )
  const client = await connected()
  client.socket.write(ASK)
  const drained = drain(GRACE, 20 * GRACE)
  t.ok(await until(() => client.heard.endsWith('answer')))
  t.equal(await drained, true)
})
