import { EventEmitter, once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { Backlog, READ_AHEAD_TOTAL } from '../../src/http/forward/backlog.ts'
import { BodyMemory } from '../../src/http/forward/body.ts'
import type { EndOfWatch } from '../../src/store/watched-session.ts'
import { call } from '../support/client.ts'
import { openForwardFixture, TOKEN, type WrittenUpstream } from '../support/forward-fixture.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'

/* Clients that accept their answers slowly, or not at all. */

const C = '/api/v1/c/things'
const MIB = 2 ** 20
/** What a part of an answer may go beyond a bound, which is checked between two of them. */
const PART = 2 ** 17

/** Has a connection of the gateway wait with its writes, as if its client accepted nothing; answers how to go on. */
function stopAccepting(socket: Socket): () => void {
  let goOn = (): void => {}
  socket._write = (...args) => {
    goOn = () => Socket.prototype._write.apply(socket, args)
  }
  socket._writev = (...args) => {
    goOn = () => Socket.prototype._writev!.apply(socket, args)
  }
  return () => {
    Reflect.deleteProperty(socket, '_write')
    Reflect.deleteProperty(socket, '_writev')
    goOn()
  }
}

async function open(t: Test, written: WrittenUpstream = {}) {
  const watches = new Set<(why: EndOfWatch) => void>()
  const upstream = await startUpstream({
    answer: (request, response) => response.end(Buffer.alloc(Number(request.url!.split('?')[1]), 'x')),
  })
  t.teardown(() => upstream.close())
  const slow: Socket[] = []
  const goOn: (() => void)[] = []
  let isSlow = true
  const fixture = await openForwardFixture({
    upstreams: [{ target: upstream.url, ...written }],
    watch: {
      watch: (_session, onEnd) => {
        watches.add(onEnd)
        return () => watches.delete(onEnd)
      },
    },
    prepare: app =>
      void app.server.on('connection', socket => {
        if (!isSlow) return
        slow.push(socket)
        goOn.push(stopAccepting(socket))
      }),
  })
  t.teardown(() => fixture.close())
  const target = fixture.table.upstreams[0]!.targets[0]!
  return {
    ...fixture,
    upstream,
    target,
    watches,
    slow,
    /** Asks for so many bytes; answers how many arrived, or the fault. */
    ask: async (bytes: number): Promise<number | Error> => {
      const request = httpRequest(`${fixture.url}${C}?${bytes}`, {
        agent: false,
        headers: { authorization: TOKEN.consumer },
      })
      t.teardown(() => request.destroy())
      try {
        const [response] = (await once(request.end(), 'response')) as [IncomingMessage]
        let received = 0
        for await (const chunk of response) received += chunk.length
        return received
      } catch (error) {
        return error as Error
      }
    },
    askQuickly: async () => {
      isSlow = false
      return (await call(fixture.url, { path: `${C}?5`, token: TOKEN.consumer })).text
    },
    inMemory: () => slow.reduce((sum, socket) => sum + socket.writableLength, 0),
    accept: () => {
      for (const accept of goOn.splice(0)) accept()
    },
  }
}

t.test('an answer that its client does not accept gives its connection of the upstream back', async t => {
  const { upstream, target, slow, ask, askQuickly, accept } = await open(t, { connections: { limit: 1, queue: 10 } })
  const received = [ask(MIB), ask(MIB), ask(MIB)]
  t.ok(await until(() => upstream.requests.length === 3 && target.open === 0))
  t.equal(await askQuickly(), 'xxxxx')
  t.ok(slow.every(socket => socket.writableLength > MIB))
  accept()
  t.same(await Promise.all(received), [MIB, MIB, MIB])
})

t.test('a large answer that its client does not accept is held back at the upstream, and arrives whole', async t => {
  const { target, slow, ask, askQuickly, accept } = await open(t)
  const received = ask(30 * MIB)
  t.ok(await until(() => slow.length === 1 && slow[0]!.writableLength > MIB))
  t.equal(await askQuickly(), 'xxxxx')
  t.equal(target.open, 1)
  t.ok(slow[0]!.writableLength < MIB + 2 * PART)
  accept()
  t.equal(await received, 30 * MIB)
  t.ok(await until(() => target.open === 0))
})

t.test('the unread answers of all clients are bounded, and those of disconnected clients are freed', async t => {
  const { target, slow, ask, inMemory, accept } = await open(t)
  const most = READ_AHEAD_TOTAL / MIB
  const received = Array.from({ length: most + 10 }, () => ask(20 * MIB))
  t.ok(await until(() => slow.length === most + 10 && inMemory() > READ_AHEAD_TOTAL))
  t.ok(inMemory() < READ_AHEAD_TOTAL + slow.length * PART)
  for (const socket of slow.splice(0)) socket.destroy()
  t.ok((await Promise.all(received)).every(one => one instanceof Error))
  t.ok(await until(() => target.open === 0))
  const next = ask(MIB)
  t.ok(await until(() => slow.length === 1 && slow[0]!.writableLength > MIB && target.open === 0))
  accept()
  t.equal(await next, MIB)
})

t.test('an answer in memory ends with its session, and is watched until its client has accepted it', async t => {
  const { target, watches, slow, ask, accept, log } = await open(t, { end_with_session: true })
  const [cut, kept] = [ask(MIB), ask(MIB)]
  t.ok(await until(() => slow.length === 2 && target.open === 0 && watches.size === 2))
  const [endFirst] = watches
  endFirst!('ended')
  t.ok(await until(() => slow.filter(({ destroyed }) => destroyed).length === 1))
  t.ok(log.some(({ msg }) => msg === 'response ended with its session'))
  t.equal(watches.size, 1)
  accept()
  const received = await Promise.all([cut, kept])
  t.equal(received.filter(one => one === MIB).length, 1)
  t.equal(received.filter(one => one instanceof Error).length, 1)
  t.ok(await until(() => watches.size === 0))
})

t.test('a connection that serves another request meanwhile is not affected', async t => {
  const calls: string[] = []
  const link = { hold: () => calls.push('hold'), resume: () => calls.push('resume'), abort() {} }
  const response = new EventEmitter()
  const backlog = new Backlog(response as ServerResponse, link, new BodyMemory(10))
  backlog.add(10)
  t.same(calls, ['hold'])
  backlog.leave()
  response.emit('drain')
  t.same(calls, ['hold'])
  t.ok(backlog.isEmpty)
})

/** A response whose client accepts nothing until `drain`, and what was written to it. */
function unread(parts: Partial<ServerResponse> = {}) {
  const written: Buffer[] = []
  const write = (chunk: Buffer): boolean => {
    written.push(chunk)
    return false
  }
  const response = Object.assign(new EventEmitter(), { write, ...parts })
  const link = { hold() {}, resume() {}, abort() {} }
  const memory = new BodyMemory(READ_AHEAD_TOTAL)
  return { response, written, memory, backlog: new Backlog(response as unknown as ServerResponse, link, memory) }
}

const pieces = Array.from({ length: 20_000 }, (_, i) => Buffer.of(i % 251))

t.test('small pieces that a client does not accept are written together, in their order', async t => {
  const { response, written, backlog } = unread()
  backlog.add(1)
  for (const piece of pieces) backlog.push(piece)
  t.ok(written.length < 10, `in ${written.length} writes`)
  response.emit('drain')
  t.ok(Buffer.concat(written).equals(Buffer.concat(pieces)), 'all of it, when the client accepts more')
  t.notOk(backlog.isEmpty, 'the last of it is not accepted')
  response.emit('drain')
  t.ok(backlog.isEmpty)
})

t.test('the last small pieces are written when the upstream has sent everything', async t => {
  const { written, backlog } = unread()
  backlog.add(1)
  for (const piece of [...pieces, Buffer.alloc(5000, 'x'), Buffer.of(1)]) backlog.push(piece)
  backlog.leave()
  t.ok(Buffer.concat(written).equals(Buffer.concat([...pieces, Buffer.alloc(5000, 'x'), Buffer.of(1)])))
})

t.test('nothing is written for a client that has left', async t => {
  const { written, backlog } = unread({ destroyed: true })
  backlog.add(1)
  backlog.push(Buffer.of(1))
  backlog.leave()
  t.same(written, [])
})
