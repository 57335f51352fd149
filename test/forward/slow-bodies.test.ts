import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { BodyMemory, ClientBody, READ_FIRST_TOTAL } from '../../src/http/forward/body.ts'
import { SlowBodies } from '../../src/http/forward/slow-bodies.ts'
import type { ConnectionSettings } from '../../src/settings/schema/targets.ts'
import { ClientLeft } from '../../src/upstream/target-attempts.ts'
import { call } from '../support/client.ts'
import { openForwardFixture, TOKEN } from '../support/forward-fixture.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'

t.jobs = 6

/* Bodies that come slowly take no connection of an upstream from requests that need it. */

const C = '/api/v1/c/things'
const LIMIT = 5
/** So many of them leave half of the connections to others. */
const ADMITTED = 2

async function open(
  t: Test,
  connections: Partial<ConnectionSettings> = { limit: LIMIT, queue: 0 },
  onRequest?: (request: IncomingMessage) => Promise<void>,
) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const fixture = await openForwardFixture({
    upstreams: [{ target: upstream.url, connections }],
    ...(onRequest && { prepare: app => void app.addHook('onRequest', async ({ raw }) => onRequest(raw)) }),
  })
  t.teardown(() => fixture.close())
  const post = async (headers: string, body: string): Promise<Socket> => {
    const socket = connect(fixture.port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(`POST ${C} HTTP/1.1\r\nHost: h\r\nAuthorization: ${TOKEN.consumer}\r\n${headers}\r\n\r\n${body}`)
    return socket
  }
  const ask = () => call(fixture.url, { method: 'POST', path: C, token: TOKEN.consumer, body: 'mine' })
  return { ...fixture, upstream, post, ask }
}

t.test('slow small bodies hold few connections of an upstream, and get theirs when they are whole', async t => {
  const { upstream, post, ask } = await open(t)
  const slow: Socket[] = []
  for (let i = 0; i < 4 * LIMIT; i++)
    slow.push(
      await post(i % 2 === 0 ? 'Content-Length: 100' : 'Transfer-Encoding: chunked', i % 2 === 0 ? 'x' : '5\r\nx'),
    )
  t.ok(await until(() => upstream.requests.length === ADMITTED))
  for (let i = 0; i < 3; i++) t.equal((await ask()).status, 200)
  t.same(new Set(upstream.requests.slice(ADMITTED).map(({ body }) => body)), new Set(['mine']))
  const last = slow.at(-2)!
  const answer = once(last, 'data')
  last.write('y'.repeat(99))
  t.match(String((await answer)[0]), /^HTTP\/1\.1 200 /)
  t.equal(upstream.requests.at(-1)!.body, `x${'y'.repeat(99)}`)
})

t.test('the beginning of a slow large body holds none either, and all of it arrives', async t => {
  const { upstream, post, ask, table } = await open(t)
  const slow: Socket[] = []
  for (let i = 0; i < 2 * LIMIT; i++) slow.push(await post('Content-Length: 3000000', 'x'.repeat(50_000)))
  t.ok(await until(() => upstream.requests.length === ADMITTED))
  t.equal((await ask()).status, 200)
  t.equal(upstream.requests.length, ADMITTED + 1)
  const [first, ...others] = slow.reverse()
  const answer = once(first!, 'data')
  first!.write('y'.repeat(2_950_000))
  t.match(String((await answer)[0]), /^HTTP\/1\.1 200 /)
  t.equal(upstream.requests.at(-1)!.body, 'x'.repeat(50_000) + 'y'.repeat(2_950_000))
  for (const socket of others) socket.destroy()
  t.ok(await until(() => table.upstreams[0]!.targets[0]!.open === 0))
})

t.test('a slow body is forwarded as it comes where half of the connections are free', async t => {
  const { upstream, post, ask } = await open(t)
  for (const [headers, parts, arrived] of [
    ['Content-Length: 10', ['hello', 'world'], 'helloworld'],
    ['Transfer-Encoding: chunked', ['5\r\nhello\r\n', '5\r\nworld\r\n0\r\n\r\n'], 'helloworld'],
  ] as const) {
    const before = upstream.requests.length
    const socket = await post(headers, parts[0])
    t.ok(await until(() => upstream.requests.length === before + 1))
    t.notOk(upstream.requests.at(-1)!.complete)
    const answer = once(socket, 'data')
    socket.write(parts[1])
    t.match(String((await answer)[0]), /^HTTP\/1\.1 200 /)
    t.equal(upstream.requests.at(-1)!.body, arrived)
  }
  const [socket] = await Promise.all([post('Content-Length: 10', 'x'), post('Content-Length: 10', 'x')])
  t.ok(await until(() => upstream.open === ADMITTED))
  await post('Content-Length: 10', 'x')
  socket!.destroy()
  t.ok(await until(() => upstream.requests.length === 5), 'the next one when one of them has left')
  t.equal((await ask()).status, 200)
})

t.test('a body of which nothing has arrived keeps no connection, which its target could close meanwhile', async t => {
  const { upstream, post, ask, table } = await open(t)
  const socket = await post('Content-Length: 2', '')
  // It is looked at often enough by then to be forwarded.
  await post('Content-Length: 2', 'x')
  t.ok(await until(() => upstream.requests.length === 1))
  t.equal(table.upstreams[0]!.targets[0]!.open, 1)
  t.equal((await ask()).status, 200, 'on a connection that is kept')
  upstream.closeConnections()
  const answer = once(socket, 'data')
  socket.write('xy')
  t.match(String((await answer)[0]), /^HTTP\/1\.1 200 /)
  t.equal(upstream.requests.at(-1)!.body, 'xy')
})

t.test('one client address has half of its share in use by slow bodies at most', async t => {
  const { upstream, post, ask } = await open(t, { limit: 1000, per_address: 4 })
  for (let i = 0; i < 4; i++) await post('Content-Length: 10', 'x')
  t.ok(await until(() => upstream.requests.length === 2))
  const answers = await Promise.all([ask(), ask(), ask(), ask()])
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.equal(upstream.requests.filter(({ complete }) => !complete).length, 2)
})

t.test('a body that came with its head is forwarded as it is', async t => {
  const { upstream, post } = await open(t)
  for (const [headers, body, arrived] of [
    ['Content-Length: 5', 'hello', 'hello'],
    ['Transfer-Encoding: chunked', '2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n', 'hello'],
    ['Transfer-Encoding: chunked', '0\r\n\r\n', ''],
  ] as const) {
    const socket = await post(headers, body)
    t.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 200 /)
    t.equal(upstream.requests.at(-1)!.body, arrived)
    t.equal(upstream.requests.at(-1)!.headers['content-length'], headers.startsWith('C') ? '5' : undefined)
  }
})

t.test('bodies of clients that leave while the gate waits are forgotten', async t => {
  /** Requests that the gate keeps waiting, oldest first. */
  const kept: { request: IncomingMessage; release: () => void }[] = []
  let isKeeping = true
  const { post, ask } = await open(t, { limit: 1, queue: 0 }, request =>
    isKeeping ? new Promise(release => kept.push({ request, release })) : Promise.resolve(),
  )
  const size = 60_000
  for (let bytes = 0; bytes < READ_FIRST_TOTAL; ) {
    const sockets = await Promise.all(
      Array.from({ length: 64 }, () => post(`Content-Length: ${size}`, 'x'.repeat(size))),
    )
    t.ok(await until(() => kept.length === sockets.length))
    bytes += size * kept.filter(({ request }) => request.complete).length
    for (const socket of sockets) socket.destroy()
    t.ok(await until(() => kept.every(({ request }) => request.socket.destroyed)))
    for (const { release } of kept.splice(0)) release()
  }
  isKeeping = false
  const slow = await post('Content-Length: 2', 'x')
  t.equal((await ask()).status, 200, 'a slow body still waits, and leaves the connection to others')
  const answer = once(slow, 'data')
  slow.write('y')
  t.match(String((await answer)[0]), /^HTTP\/1\.1 200 /)
})

t.test('a body is not waited for whose client has left before it is read', async t => {
  const request = Object.assign(new Readable({ read() {} }), { complete: false })
  request.destroy()
  await once(request, 'close')
  const shared = { memory: new BodyMemory(1000), slow: new SlowBodies() }
  const failures: Error[] = []
  new ClientBody(request as unknown as IncomingMessage, 10, shared).readFirst({
    isAdmitted: () => false,
    onReady: () => t.fail('the body is incomplete'),
    onFailed: error => failures.push(error),
  })
  t.match(failures, [ClientLeft])
})

t.test('a body in pieces of one byte waits in about as much memory as one in large pieces', async t => {
  const request = Object.assign(new Readable({ read() {} }), { complete: false })
  const shared = { memory: new BodyMemory(READ_FIRST_TOTAL), slow: new SlowBodies() }
  const body = new ClientBody(request as unknown as IncomingMessage, 1_000_000, shared)
  const pieces = [...Array.from({ length: 30_000 }, (_, i) => Buffer.of(i % 251)), Buffer.alloc(2000, 'x')]
  pieces.push(...Array.from({ length: 9000 }, (_, i) => Buffer.of(i % 241)), Buffer.alloc(1000, 'y'))
  await new Promise<void>((onReady, onFailed) => {
    body.readFirst({ isAdmitted: () => false, onReady, onFailed })
    for (const piece of pieces) request.push(piece)
    request.push(null)
  })
  const kept: Buffer[] = []
  body.start({ onBodyData: chunk => kept.push(chunk), onBodyEnd() {}, onBodyError: error => t.fail(error) })
  t.ok(Buffer.concat(kept).equals(Buffer.concat(pieces)), 'all of it, in its order')
  t.ok(kept.length < 20, `in ${kept.length} pieces`)
})
