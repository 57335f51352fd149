import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import t, { type Test } from 'tap'
import type { HttpTarget, TargetOptions } from '../../src/upstream/targets.ts'
import { Connections } from '../../src/upstream/wire/connections.ts'
import type { Receiver, RequestBody, UpstreamRequest } from '../../src/upstream/wire/receiver.ts'
import { UnwritableRequest } from '../../src/upstream/wire/write-request-head.ts'
import { freePort } from '../support/ports.ts'
import { PATIENCE, until } from '../support/until.ts'
import { type RawUpstream, startRawUpstream } from '../support/upstream.ts'
import { openTarget } from './target-fixture.ts'

/* Which connections there are, when they are used again, and what is written on them. */

const GET: UpstreamRequest = { method: 'GET', path: '/', headers: ['host', 'h'], body: null, client: 'c' }
const OK = 'HTTP/1.1 200 OK\r\n'

async function open(
  t: Test,
  speak: (socket: Socket, request: string) => void,
  connections: Partial<TargetOptions['connections']> = {},
) {
  const upstream: RawUpstream = await startRawUpstream(speak)
  // Behind the target: the last that is opened is the first that is closed.
  t.teardown(() => upstream.close())
  const target = openTarget(t, upstream.url, connections)
  return { upstream, target, ask: (request: UpstreamRequest = GET) => ask(target, request) }
}

/** Sends a request; returns its body, or the error. */
function ask(target: Pick<HttpTarget, 'dispatch'>, request: UpstreamRequest): Promise<string | Error> {
  return new Promise(resolve => {
    let body = ''
    const receiver: Receiver = {
      onConnect() {},
      onHeaders() {},
      onData(chunk) {
        body += chunk
      },
      onAwait() {},
      onComplete: () => resolve(body),
      onError: resolve,
    }
    target.dispatch(request, receiver)
  })
}

/** Lets the received data be handled. */
const turn = () => new Promise(resolve => setTimeout(resolve, 20))

t.test('a connection is reused', async t => {
  const { upstream, ask } = await open(t, socket => socket.write(`${OK}Content-Length: 2\r\n\r\nok`))
  for (let i = 0; i < 20; i++) {
    t.equal(await ask(), 'ok')
    await turn()
  }
  t.equal(upstream.heard.length, 1)
})

const ENDING: Record<string, [speech: string, method: string]> = {
  'says that it closes': [`${OK}Connection: close\r\nContent-Length: 2\r\n\r\nok`, 'GET'],
  'speaks HTTP/1.0': ['HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', 'GET'],
  'sends more than the response': [`${OK}Content-Length: 2\r\n\r\nokmore`, 'GET'],
  'says that it is about to close': [`${OK}Keep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok`, 'GET'],
  'got a HEAD request': [`${OK}Content-Length: 2\r\n\r\n`, 'HEAD'],
}
for (const [what, [speech, method]] of Object.entries(ENDING)) {
  t.test(`a connection on which the target ${what} is used once, and closed`, async t => {
    const { upstream, ask } = await open(t, socket => socket.write(speech))
    for (let i = 1; i <= 3; i++) {
      t.match(await ask({ ...GET, method }), method === 'HEAD' ? '' : 'ok')
      t.ok(await until(() => upstream.sockets.size === 0))
      t.equal(upstream.heard.length, i)
    }
  })
}

t.test('an unused connection is closed in its time, which the target can shorten', async t => {
  for (const [head, idle] of [
    ['', 300],
    ['Keep-Alive: max=5, timeout=2\r\n', 60_000],
  ] as const) {
    const { upstream, ask } = await open(t, socket => socket.write(`${OK}${head}Content-Length: 2\r\n\r\nok`), { idle })
    const isUsedAgain = () => upstream.heard.some(text => text.split('GET ').length > 2)
    t.ok(await until(async () => (await ask()) === 'ok' && isUsedAgain()))
    t.ok(await until(() => upstream.sockets.size === 0))
  }
})

t.test('unexpected data on an idle connection closes it', async t => {
  const { upstream, ask } = await open(t, socket => socket.write(`${OK}Content-Length: 2\r\n\r\nok`))
  t.equal(await ask(), 'ok')
  for (const socket of upstream.sockets) socket.write(`${OK}Content-Length: 4\r\n\r\nevil`)
  t.ok(await until(() => upstream.sockets.size === 0))
  t.equal(await ask(), 'ok')
})

t.test('an unused connection that the target closes is replaced', async t => {
  const { upstream, ask, target } = await open(t, socket => socket.write(`${OK}Content-Length: 2\r\n\r\nok`))
  t.equal(await ask(), 'ok')
  for (const socket of upstream.sockets) socket.end()
  t.ok(await until(() => upstream.sockets.size === 0))
  t.equal(await ask(), 'ok')
  await turn()
  t.equal(target.open, 0)
})

/** A body of which nothing comes. */
const SILENT_BODY: RequestBody = { start() {}, pause() {}, resume() {}, stop() {}, discard() {} }

/** A connection in memory: what the target says and does is seen in the very turn in which it is done. */
class Wire extends Duplex {
  written = ''

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written += chunk.toString('latin1')
    done()
  }
}

t.test('a request for which a used connection was chosen, and nothing written, outlives it', async t => {
  const LEAVING: Record<string, (wire: Wire) => void> = {
    'by closing it': wire => wire.push(null),
    'by a reset': wire => wire.destroy(new Error('ECONNRESET')),
    'by a word': wire => wire.push('HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n'),
  }
  for (const [how, leave] of Object.entries(LEAVING)) {
    const wires: Wire[] = []
    const connections = new Connections({
      connect(done) {
        const wire = new Wire()
        wires.push(wire)
        setImmediate(() => done(null, wire as unknown as Socket))
        return wire as unknown as Socket
      },
      responseLimit: PATIENCE,
      settings: { limit: 10, queue: 10, wait: PATIENCE, idle: 60_000, lifetime: 60_000 },
      growOld: false,
    })
    t.teardown(() => connections.close())
    const answer = async (wire: Wire): Promise<void> => {
      while (wire.written === '') await turn()
      wire.push(`${OK}Content-Length: 2\r\n\r\nok`)
    }
    const first = ask(connections, GET)
    await answer(wires[0]!)
    t.equal(await first, 'ok')
    await turn()

    const second = ask(connections, GET)
    leave(wires[0]!)
    await turn()
    t.equal(wires.length, 2, how)
    await answer(wires[1]!)
    t.equal(await second, 'ok')
    await turn()

    const third = ask(connections, { ...GET, method: 'POST', body: SILENT_BODY })
    leave(wires[1]!)
    t.ok((await third) instanceof Error, 'but not with a body')
    t.equal(connections.open, 0)
  }
})

t.test('a request is written unchanged', async t => {
  const { upstream, ask } = await open(t, socket => socket.end(`${OK}Content-Length: 2\r\n\r\nok`))
  await ask({ method: 'GET', path: '/a?b', headers: ['host', 'h', 'X-A', '1', 'x-a', '\xff'], body: null, client: 'c' })
  await ask({ method: 'POST', path: '/', headers: ['host', 'h'], body: null, client: 'c' })
  await ask({ method: 'DELETE', path: '/', headers: ['host', 'h', 'Content-Length', '0'], body: null, client: 'c' })
  await ask({ method: 'HEAD', path: '/', headers: ['host', 'h'], body: null, client: 'c' })
  t.same(upstream.heard, [
    'GET /a?b HTTP/1.1\r\nhost: h\r\nX-A: 1\r\nx-a: \xff\r\nconnection: keep-alive\r\n\r\n',
    'POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n',
    'DELETE / HTTP/1.1\r\nhost: h\r\nContent-Length: 0\r\nconnection: keep-alive\r\n\r\n',
    'HEAD / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n',
  ])
})

t.test('a request with line breaks in its fields is not written, and harms no connection', async t => {
  const { upstream, ask, target } = await open(t, socket => socket.write(`${OK}Content-Length: 2\r\n\r\nok`))
  t.equal(await ask(), 'ok')
  await turn()
  for (const request of [
    { ...GET, headers: ['host', 'h', 'x-login-id', '1\r\nx-evil: 1'] },
    { ...GET, headers: ['host', 'h', 'x-login-id', '1\0'] },
    { ...GET, headers: ['host', 'h', 'x-login-id', '你'] },
    { ...GET, path: '/ HTTP/1.1\r\nx-evil: 1\r\n\r\n' },
  ]) {
    t.ok((await ask(request)) instanceof UnwritableRequest)
    await turn()
  }
  t.equal(await ask(), 'ok')
  await turn()
  t.equal(target.open, 0)
  t.equal(upstream.heard.length, 1)
  t.notMatch(upstream.heard[0], 'evil')
})

t.test('requests to a target that has been closed end at once', async t => {
  const { ask, target } = await open(t, () => {})
  target.close()
  t.ok((await ask()) instanceof Error)
  t.equal(target.open, 0)
})

t.test('connections that are refused leave nothing behind', async t => {
  const target = openTarget(t, `http://127.0.0.1:${await freePort()}`, { limit: 2 })
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => ask(target, GET)))
  t.ok(outcomes.every(outcome => outcome instanceof Error && !/queue|free/.test(outcome.message)))
  t.equal(target.open, 0)
})

/** Requests that are told of apart, of one client address. */
const from = (client: string): UpstreamRequest => ({ ...GET, client })

/** A target that answers when it is allowed to. */
async function holding(t: Test, connections: Partial<TargetOptions['connections']>) {
  const waiting: Socket[] = []
  const stage = await open(t, socket => void waiting.push(socket), connections)
  return {
    ...stage,
    waiting,
    answerOne: () => waiting.shift()!.write(`${OK}Content-Length: 2\r\n\r\nok`),
  }
}

t.test(
  'one client address uses its share of the connections, and others pass the requests that it has waiting',
  async t => {
    const { ask, target, waiting, answerOne } = await holding(t, { limit: 100, per_address: 3 })
    const greedy = Array.from({ length: 10 }, () => ask(from('greedy')))
    t.ok(await until(() => waiting.length === 3))
    t.equal(target.open, 10)
    const other = ask(from('other'))
    t.ok(await until(() => waiting.length === 4))
    for (let i = 0; i < 11; i++) {
      t.ok(await until(() => waiting.length > 0))
      answerOne()
    }
    t.same(
      await Promise.all([...greedy, other]),
      Array.from({ length: 11 }, () => 'ok'),
    )
    t.equal(target.open, 0)
  },
)

t.test(
  'a request that has waited for its time waits at no other target, and takes a connection that is free',
  async t => {
    const first = await holding(t, { limit: 1, wait: 100 })
    const second = await holding(t, { limit: 1 })
    const served = [first.ask(from('other')), second.ask(from('other'))]
    t.ok(await until(() => first.waiting.length + second.waiting.length === 2))
    const request = from('one')
    t.match(await first.ask(request), { message: /no connection became free/ })
    const refused = second.ask(request)
    t.equal(second.target.status().waiting, 0)
    t.match(await refused, { message: /the time to wait is over/ })
    first.answerOne()
    second.answerOne()
    t.same(await Promise.all(served), ['ok', 'ok'])
    await turn()
    const taken = second.ask(request)
    t.ok(await until(() => second.waiting.length === 1))
    second.answerOne()
    t.equal(await taken, 'ok')
  },
)

t.test('requests that wait keep their order where a connection is too old to be used again', async t => {
  const { target, waiting, answerOne } = await holding(t, {})
  const connections = new Connections({
    connect: target.connect,
    responseLimit: PATIENCE,
    settings: { limit: 1, queue: 100, wait: PATIENCE, idle: 60_000, lifetime: 2 },
    growOld: true,
  })
  t.teardown(() => connections.close())
  const order: string[] = []
  const paths = ['/a', '/b', '/c', '/d']
  const answers = paths.map(path => ask(connections, { ...GET, path }).then(() => order.push(path)))
  for (const path of paths) {
    t.ok(await until(() => waiting.length === 1), path)
    // Until the connection is old.
    await turn()
    answerOne()
  }
  await Promise.all(answers)
  t.same(order, paths)
})

t.test('requests whose client leaves give their share back', async t => {
  const { ask, target, upstream, waiting, answerOne } = await holding(t, { limit: 100, per_address: 2 })
  const broken = [ask(from('one')), ask(from('one'))]
  t.ok(await until(() => waiting.length === 2))
  waiting.length = 0
  for (const socket of upstream.sockets) socket.destroy()
  for (const answer of broken) t.ok((await answer) instanceof Error)
  const served = [ask(from('one')), ask(from('one'))]
  t.ok(await until(() => waiting.length === 2))
  answerOne()
  answerOne()
  t.same(await Promise.all(served), ['ok', 'ok'])
  t.equal(target.open, 0)
})

t.test('clients that wait for a connection are served in turns, and one cannot take the whole queue', async t => {
  const { ask, waiting, answerOne } = await holding(t, { limit: 1, queue: 60 })
  const order: string[] = []
  const asked = (client: string) => ask(from(client)).then(answer => order.push(answer === 'ok' ? client : 'refused'))
  const answers = [asked('first')]
  for (let i = 0; i < 40; i++) answers.push(asked('greedy'))
  answers.push(asked('other'), asked('another'))
  t.ok(await until(() => order.length === 10), 'more than half of the queue is not for one address')
  for (let i = 0; i < 33; i++) {
    t.ok(await until(() => waiting.length === 1))
    answerOne()
  }
  await Promise.all(answers)
  t.same(
    order.slice(0, 10),
    Array.from({ length: 10 }, () => 'refused'),
  )
  t.same(order.slice(10, 15), ['first', 'greedy', 'other', 'another', 'greedy'])
})
