import { once } from 'node:events'
import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { call, callRaw, openRawClient } from '../support/client.ts'
import { type ForwardFixture, forwardTo, openForwardFixture, TOKEN } from '../support/forward-fixture.ts'
import { until } from '../support/until.ts'
import { type Handler, type Recorder, startRawUpstream, startUpstream } from '../support/upstream.ts'

const C = '/api/v1/c/things'
const HEADERS = { authorization: TOKEN.consumer }

interface Scenario extends ForwardFixture {
  backend: Recorder
  open(method?: string, headers?: Record<string, string>): ClientRequest
  /** Nothing is left of any request: not at the backend, not in the pool, not on the gateway's own side. */
  isQuiet(): Promise<boolean>
}

async function openScenario(t: Test, handlers: { answer?: Handler; take?: Handler }, timeouts = {}): Promise<Scenario> {
  const backend = await startUpstream(handlers)
  t.teardown(() => backend.close())
  const fixture = await forwardTo(t, backend.url, { timeouts })
  return {
    ...fixture,
    backend,
    open(method = 'GET', headers = {}) {
      const request = httpRequest(fixture.url + C, { method, agent: false, headers: { ...HEADERS, ...headers } })
      request.on('error', () => {})
      return request
    },
    isQuiet: () => until(() => backend.open === 0 && fixture.table.upstreams[0]!.targets[0]!.open === 0),
  }
}

const responseOf = async (request: ClientRequest): Promise<IncomingMessage> => {
  const [response] = await once(request, 'response')
  response.on('error', () => {})
  return response
}

t.test('a client who leaves before the head cancels the upstream request', async t => {
  const { backend, open, isQuiet, url } = await openScenario(t, { answer: () => {} })
  const request = open()
  request.end()
  t.ok(await until(() => backend.open === 1))
  request.destroy()
  t.ok(await isQuiet())
  backend.answer = (_request, response) => response.end('next')
  t.match(await call(url, { path: C, token: TOKEN.consumer }), { text: 'next' })
})

t.test('if a client leaves while the upstream connection is opened, nothing is sent, and a fault counts', async t => {
  // It accepts, and does not answer the TLS handshake.
  const silent = await startRawUpstream(() => {})
  const fixture = await openForwardFixture({
    upstreams: [
      { target: silent.url.replace('http', 'https'), ejection: { failures: 1, duration: 60_000, limit: 60_000 } },
    ],
  })
  t.teardown(async () => {
    await fixture.close()
    await silent.close()
  })
  const request = httpRequest(fixture.url + C, { agent: false, headers: HEADERS })
  request.on('error', () => {})
  request.end()
  t.ok(await until(() => silent.sockets.size === 1))
  request.destroy()
  // The gateway knows that the client left before it sees its own connection fail.
  const connections = promisify(fixture.app.server.getConnections.bind(fixture.app.server))
  t.ok(await until(async () => (await connections()) === 0))
  for (const socket of silent.sockets) socket.destroy()
  t.ok(await until(() => fixture.table.upstreams[0]!.targets[0]!.open === 0))
  t.same(
    fixture.log.filter(line => line.level >= 40).map(({ msg }) => msg),
    ['target ejected'],
  )
})

t.test('a client who leaves in the middle of the response cancels the rest', async t => {
  const { open, isQuiet } = await openScenario(t, {
    answer: (_request, response) => {
      const timer = setInterval(() => response.write('x'.repeat(1000)), 5)
      response.on('close', () => clearInterval(timer))
    },
  })
  const request = open()
  request.end()
  const response = await responseOf(request)
  await once(response, 'data')
  request.destroy()
  t.ok(await isQuiet())
})

t.test('a client who leaves in the middle of its body cancels the upstream request', async t => {
  const { backend, open, isQuiet } = await openScenario(t, { take: request => request.resume() })
  for (const headers of [{ 'content-length': '100000' }, { 'transfer-encoding': 'chunked' }] as Record<
    string,
    string
  >[]) {
    const before = backend.requests.length
    const request = open('POST', headers)
    request.write('x'.repeat(70_000))
    t.ok(await until(() => backend.requests.length > before))
    request.destroy()
    t.ok(await isQuiet())
    t.notOk(backend.requests.at(-1)!.complete)
  }
})

t.test('an upstream that neither reads the body nor answers ends with a timeout', async t => {
  // Nothing is read of the client either then, so that its leaving is not seen.
  const { backend, open, table } = await openScenario(t, { take: () => {} }, { response: 500 })
  const staying = open('POST')
  const answer = responseOf(staying)
  staying.write(Buffer.alloc(20_000_000))
  const leaving = open('POST')
  leaving.write(Buffer.alloc(20_000_000))
  // Whether or not the time of one is over when the other arrives.
  t.ok(await until(() => backend.requests.length === 2))
  leaving.destroy()
  t.equal((await answer).statusCode, 504)
  staying.destroy()
  t.ok(await until(() => table.upstreams[0]!.targets[0]!.open === 0))
})

t.test('an answer that does not wait for the body reaches the client, whose connection stays usable', async t => {
  const { url, isQuiet, backend } = await openScenario(t, {
    take: (request, response, arrived) => {
      if (arrived.method === 'POST') response.writeHead(413).end('too much')
      else request.resume().on('end', () => response.end('next'))
    },
  })
  const { port } = new URL(url)
  const { socket, heard } = openRawClient(t, Number(port))
  const auth = `Authorization: ${TOKEN.consumer}`
  socket.write(`POST ${C} HTTP/1.1\r\nHost: h\r\n${auth}\r\nContent-Length: 3000000\r\n\r\n${'x'.repeat(1_000_000)}`)
  t.ok(await until(() => heard().includes('too much')))
  t.match(heard(), /^HTTP\/1\.1 413 /)
  socket.write(`${'x'.repeat(2_000_000)}GET ${C} HTTP/1.1\r\nHost: h\r\n${auth}\r\n\r\n`)
  t.ok(await until(() => heard().includes('next')), heard())
  t.ok(await isQuiet())
  t.equal(backend.requests.length, 2)
})

t.test('an upstream that dies in the middle of the client’s body is 502 to the client', async t => {
  const { backend, open, isQuiet } = await openScenario(t, {
    take: request => request.once('data', () => request.destroy()),
  })
  const request = open('POST', { 'content-length': '3000000' })
  request.write('x'.repeat(1_000_000))
  const response = await responseOf(request)
  t.equal(response.statusCode, 502)
  request.destroy()
  t.ok(await isQuiet())
  t.equal(backend.requests.length, 1, 'and it was not sent again')
})

t.test('five thousand clients that leave in the middle of the response leave no resources in use', async t => {
  const { backend, url, isQuiet, table } = await openScenario(t, {
    answer: (_request, response) => {
      response.writeHead(200)
      response.write('x'.repeat(20_000))
    },
  })
  const { port } = new URL(url)
  let left = 5000
  const hangUp = async (): Promise<void> => {
    while (left-- > 0) {
      const socket = connect(Number(port), '127.0.0.1')
      socket.on('error', () => {})
      socket.write(`GET ${C} HTTP/1.1\r\nHost: h\r\nAuthorization: ${TOKEN.consumer}\r\n\r\n`)
      await once(socket, 'data')
      if (left % 2 === 0) socket.destroy()
      else socket.resetAndDestroy()
    }
  }
  await Promise.all(Array.from({ length: 32 }, hangUp))
  t.equal(backend.requests.length, 5000)
  t.ok(await isQuiet(), `${backend.open} open at the backend, ${table.upstreams[0]!.targets[0]!.open} in the pool`)
  t.ok((await backend.connections()) <= 64, 'connections do not pile up')

  backend.answer = (_request, response) => response.end('next')
  t.match(await call(url, { path: C, token: TOKEN.consumer }), { text: 'next' })
})

t.test('clients that leave without reading leave no resources in use', async t => {
  const { backend, open, isQuiet } = await openScenario(t, {
    answer: (_request, response) => response.end(Buffer.alloc(30_000_000)),
  })
  const requests = Array.from({ length: 16 }, () => open())
  for (const request of requests) request.end()
  await Promise.all(requests.map(responseOf))
  await new Promise(resolve => setTimeout(resolve, 300))
  t.equal(backend.open, 16, 'their exchanges are held')
  for (const request of requests) request.destroy()
  t.ok(await isQuiet())
})

t.test('sixty-four slow readers all get their complete answers', async t => {
  const size = 1_500_000
  const { url, isQuiet } = await openScenario(t, {
    answer: (_request, response) => response.end(Buffer.alloc(size, 'x')),
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  t.teardown(() => agent.destroy())
  const readSlowly = () =>
    new Promise<number>((resolve, reject) => {
      const request = httpRequest(url + C, { agent, headers: HEADERS }, response => {
        let received = 0
        response.on('data', chunk => {
          received += chunk.length
          response.pause()
          setTimeout(() => response.resume(), 5)
        })
        response.on('end', () => resolve(received))
        response.on('error', reject)
      })
      request.on('error', reject)
      request.end()
    })
  for (let round = 0; round < 2; round++) {
    const received = await Promise.all(Array.from({ length: 64 }, readSlowly))
    t.same(new Set(received), new Set([size]))
  }
  t.ok(await isQuiet())
})

t.test('exchanges leave no listeners on a connection that is used again', async t => {
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const { url } = await openScenario(t, { answer: (_request, response) => response.end('x'.repeat(200_000)) })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const listeners = new Set<number>()
  for (let i = 0; i < 40; i++) {
    const request = httpRequest(url + C, { agent, method: i % 2 === 0 ? 'GET' : 'POST', headers: HEADERS })
    request.end(i % 2 === 0 ? undefined : 'x'.repeat(100_000))
    const response = await responseOf(request)
    response.resume()
    await once(response, 'end')
    if (i >= 20) listeners.add(request.socket!.listenerCount('close'))
  }
  t.equal(listeners.size, 1)
  t.same(
    warnings.filter(warning => warning.name === 'MaxListenersExceededWarning'),
    [],
  )
})

t.test('pipelined requests behind one whose client left are not answered by another’s response', async t => {
  const upstream = await startRawUpstream((socket, request) => {
    const query = /\?(\w+)/.exec(request)?.[1] ?? ''
    setTimeout(
      () => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${query.length}\r\n\r\n${query}`),
      query === 'slow' ? 100 : 0,
    )
  })
  t.teardown(() => upstream.close())
  const fixture = await openForwardFixture({ upstreams: [{ target: upstream.url }] })
  t.teardown(() => fixture.close())
  const ask = (query: string) => `GET ${C}?${query} HTTP/1.1\r\nHost: h\r\nAuthorization: ${TOKEN.consumer}\r\n\r\n`
  const leaving = Promise.all(Array.from({ length: 20 }, () => callRaw(fixture.url, ask('slow') + ask('quick'), 30)))
  const staying = Promise.all(
    Array.from({ length: 50 }, async (_, i) => {
      await new Promise(resolve => setTimeout(resolve, i * 4))
      return call(fixture.url, { path: `${C}?mine${i}`, token: TOKEN.consumer })
    }),
  )
  await leaving
  for (const [i, answer] of (await staying).entries()) t.equal(answer.text, `mine${i}`)
})
