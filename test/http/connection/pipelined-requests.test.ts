import { once } from 'node:events'
import { createServer, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import t, { type Test } from 'tap'
import { MAX_HELD, serveInTurn } from '../../../src/http/server/connection/connection.ts'
import { call, callRaw, openRawClient } from '../../support/client.ts'
import { forwardTo, TOKEN } from '../../support/forward-fixture.ts'
import { until } from '../../support/until.ts'
import { type Handler, startUpstream } from '../../support/upstream.ts'

/* Requests that a client sends without waiting for the answers (RFC 9112 9.3.2). */

const C = '/api/v1/c/things'
const AUTHORIZATION = `Authorization: ${TOKEN.consumer}`

const ask = (query: string | number, method = 'GET', body = '', headers = ''): string =>
  `${method} ${C}?${query} HTTP/1.1\r\nHost: h\r\n${AUTHORIZATION}\r\n${headers}` +
  `${body === '' ? '' : `Content-Length: ${body.length}\r\n`}\r\n${body}`

const CLOSE = 'Connection: close\r\n'

/** A backend that answers with the query, when it is allowed to. */
async function holding(t: Test) {
  const waiting: { url: string; answer: () => void }[] = []
  const answer: Handler = (request, response) =>
    void waiting.push({ url: request.url!, answer: () => response.end(request.url!.split('?')[1]) })
  const upstream = await startUpstream({ answer })
  t.teardown(() => upstream.close())
  const fixture = await forwardTo(t, upstream.url)
  return { ...fixture, upstream, waiting }
}

async function client(t: Test, port: number): Promise<{ socket: Socket; heard(): string; isClosed(): boolean }> {
  const { socket, heard } = openRawClient(t, port)
  let isClosed = false
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
  })
  await once(socket, 'connect')
  return { socket, heard, isClosed: () => isClosed }
}

const statusesOf = (heard: string): string[] => heard.match(/HTTP\/1\.1 \d{3}/g)?.map(line => line.slice(9)) ?? []

t.test('thousands of pipelined requests take one place of an upstream', async t => {
  const { port, upstream, waiting } = await holding(t)
  const { socket } = await client(t, port)
  socket.write(Array.from({ length: 12_000 }, (_, i) => ask(i)).join(''))
  t.ok(await until(() => waiting.length > 0))
  for (let i = 0; i < 20; i++) {
    t.ok(await until(() => waiting.length > 0))
    t.equal(upstream.open, 1)
    t.match(waiting[0]!.url, new RegExp(`\\?${i}$`))
    waiting.shift()!.answer()
    await new Promise(setImmediate)
  }
})

t.test('a PUT and a DELETE of one packet are done in their order', async t => {
  const { port, upstream, waiting } = await holding(t)
  const { socket, heard } = await client(t, port)
  socket.write(ask('first', 'PUT', 'the content') + ask('second', 'DELETE') + ask('third', 'PUT', 'more', CLOSE))
  for (const [i, method] of ['PUT', 'DELETE', 'PUT'].entries()) {
    t.ok(await until(() => waiting.length === 1))
    t.equal(upstream.requests.length, i + 1)
    t.equal(upstream.requests[i]!.method, method)
    waiting.shift()!.answer()
  }
  t.ok(await until(() => heard().endsWith('third')))
  t.match(heard(), /first.*second.*third/s)
  t.equal(upstream.requests[2]!.body, 'more')
})

t.test('a large body behind other requests streams when its turn has come', async t => {
  const { port, upstream, waiting } = await holding(t)
  const { socket, heard } = await client(t, port)
  const body = 'x'.repeat(5_000_000)
  socket.write(ask(1) + ask(2) + ask('large', 'POST', body) + ask('last', 'GET', '', CLOSE))
  for (let i = 0; i < 4; i++) {
    t.ok(await until(() => waiting.length === 1))
    waiting.shift()!.answer()
  }
  t.ok(await until(() => heard().endsWith('last')))
  t.equal(upstream.requests[2]!.body.length, body.length)
  t.same(statusesOf(heard()), ['200', '200', '200', '200'])
})

t.test('pipelined requests beyond the limit are not answered, and the last answer closes the connection', async t => {
  const upstream = await startUpstream({ answer: (request, response) => response.end(request.url!.split('?')[1]) })
  t.teardown(() => upstream.close())
  const fixture = await forwardTo(t, upstream.url)
  const heard = await callRaw(fixture.url, Array.from({ length: 500 }, (_, i) => ask(i)).join(''))
  const statuses = statusesOf(heard)
  t.equal(statuses.length, MAX_HELD + 1)
  t.same(new Set(statuses), new Set(['200']))
  t.equal(heard.match(/connection: close/gi)?.length, 1)
  t.match(heard.slice(heard.lastIndexOf('HTTP/1.1')), /connection: close/i)
  t.match(heard, new RegExp(`\\r\\n${MAX_HELD}(\\r\\n|$)`), 'in their order')
  t.equal(upstream.requests.length, MAX_HELD + 1)
})

t.test('Node keeps no request of a packet beyond the limit', async t => {
  let made = 0
  class Counted extends ServerResponse {
    constructor(...given: ConstructorParameters<typeof ServerResponse>) {
      super(...given)
      made++
    }
  }
  const served: ServerResponse[] = []
  const server = createServer({ ServerResponse: Counted }, (_request, response) => void served.push(response))
  serveInTurn(server)
  server.listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { socket, heard, isClosed } = await client(t, (server.address() as AddressInfo).port)
  const handshake = 'GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
  socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(2000) + handshake)
  t.ok(await until(() => made > MAX_HELD + 1))
  // The packet is read by then.
  await new Promise(setImmediate)
  t.equal(made, MAX_HELD + 2)
  for (let i = 0; i <= MAX_HELD; i++) {
    t.ok(await until(() => served.length === i + 1))
    served[i]!.end()
  }
  t.ok(await until(isClosed))
  t.equal(statusesOf(heard()).length, MAX_HELD + 1)
})

t.test('pipelined requests up to the limit are all answered, and the connection stays open', async t => {
  const { port, waiting } = await holding(t)
  const { socket, heard } = await client(t, port)
  const packets = 3
  for (let packet = 0; packet < packets; packet++) {
    socket.write(Array.from({ length: 50 }, (_, i) => ask(`${packet}-${i}`)).join(''))
    for (let i = 0; i < 50; i++) {
      t.ok(await until(() => waiting.length === 1))
      waiting.shift()!.answer()
    }
    t.ok(await until(() => statusesOf(heard()).length === 50 * (packet + 1)))
  }
  t.notMatch(heard(), /connection: close/i)
})

t.test('a client that leaves takes the requests with it that wait for their turn', async t => {
  const { port, upstream, waiting, url } = await holding(t)
  const { socket } = await client(t, port)
  socket.write(ask(1) + ask(2) + ask(3))
  t.ok(await until(() => waiting.length === 1))
  socket.resetAndDestroy()
  t.ok(await until(() => upstream.open === 0))
  waiting.length = 0
  const other = call(url, { path: `${C}?other`, token: TOKEN.consumer })
  t.ok(await until(() => waiting.length === 1))
  waiting.shift()!.answer()
  t.equal((await other).text, 'other')
  t.equal(upstream.requests.length, 2)
})

t.test('nothing behind a request that asks to close is served', async t => {
  const { port, upstream, waiting } = await holding(t)
  const { socket, heard, isClosed } = await client(t, port)
  socket.write(ask(1, 'GET', '', CLOSE) + ask(2))
  t.ok(await until(() => waiting.length === 1))
  waiting.shift()!.answer()
  t.ok(await until(isClosed))
  t.same(statusesOf(heard()), ['200'])
  t.equal(upstream.requests.length, 1)
})
