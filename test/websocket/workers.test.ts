import t, { type Test } from 'tap'
import { withoutRedis } from '../support/redis-server.ts'
import { type Supervised, startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'
import { closingOf, type End, openEnd, type SocketUpstream, startSocketUpstream } from '../support/websocket-sockets.ts'

t.jobs = 2

/* WebSockets of a gateway of several processes. */

interface WebSocketFixture {
  gateway: Supervised
  upstream: SocketUpstream
  operate(operation: string, body: object): Promise<any>
}

async function openWebSocketFixture(t: Test, store: 'embedded' | 'redis'): Promise<WebSocketFixture> {
  const upstream = await startSocketUpstream(t)
  const gateway = await startSupervised(t, {
    store,
    files: {
      'config/upstreams.yaml': `upstreams: [{ name: live, match: /api/v1/c/live, target: "${upstream.url}", websocket: {} }]\n`,
    },
  })
  const operate = (operation: string, body: object) => gateway.operate('consumer', operation, body)
  return { gateway, upstream, operate }
}

async function openSome(t: Test, { gateway }: WebSocketFixture, token: string, count: number): Promise<End[]> {
  const ends: End[] = []
  // Each on a connection of its own: the workers get them in turn.
  for (let i = 0; i < count; i++) ends.push(await openEnd(t, gateway.url, { token }))
  return ends
}

for (const store of ['embedded', 'redis'] as const) {
  const skip = store === 'redis' && withoutRedis
  t.test(`a kickout closes what a user has open on every worker, ${store} store`, { skip }, async t => {
    const fixture = await openWebSocketFixture(t, store)
    const { operate, gateway } = fixture
    t.equal(gateway.workers().length, 2)
    const bystanders = await openSome(t, fixture, (await operate('login', { user_id: 'u2' })).data.token, 4)
    const ends = await openSome(t, fixture, (await operate('login', { user_id: 'u1' })).data.token, 10)
    await operate('kickout', { user_id: 'u1' })
    for (const end of ends) t.same(await closingOf(end), { code: 4401, reason: 'session ended' })
    for (const end of bystanders) t.equal(end.closed, null)
  })
}

t.test('a reload moves WebSockets to the new workers, and clients can come again at once', async t => {
  const fixture = await openWebSocketFixture(t, 'embedded')
  const { gateway, operate } = fixture
  const { token } = (await operate('login', { user_id: 'u1' })).data
  const before = gateway.workers()
  const ends = await openSome(t, fixture, token, 6)
  const { code, errors } = await gateway.reload()
  t.equal(code, 0, errors)
  for (const end of ends) t.same(await closingOf(end), { code: 1001, reason: 'going away' })
  const again = await openSome(t, fixture, token, 4)
  t.ok(await until(() => gateway.workers().every(worker => !before.includes(worker))), 'the old ones have ended')
  for (const end of again) {
    end.send('hello')
    t.ok(await until(() => end.messages.length === 1))
  }
})

t.test('a stopping gateway does not wait for open WebSockets', async t => {
  const fixture = await openWebSocketFixture(t, 'embedded')
  const { gateway, operate } = fixture
  const ends = await openSome(t, fixture, (await operate('login', { user_id: 'u1' })).data.token, 4)
  // One that would hold the connection for ever.
  ends[0]!.socket.pause()
  t.equal(await gateway.end('SIGTERM'), 0, 'in time: nothing had to be broken off')
  for (const end of ends.slice(1)) t.match(await closingOf(end), { code: 1001 })
})

/** Opens some while one worker stands still: of these it gets one at most. */
async function openWithout(t: Test, { gateway }: WebSocketFixture, worker: number, token: string): Promise<End[]> {
  process.kill(worker, 'SIGSTOP')
  const opening = Array.from({ length: 4 }, () => openEnd(t, gateway.url, { token }))
  let opened = 0
  for (const end of opening) void end.then(() => opened++)
  await until(() => opened >= 3)
  process.kill(worker, 'SIGCONT')
  return Promise.all(opening)
}

t.test('a worker that crashes closes its own WebSockets only', async t => {
  const fixture = await openWebSocketFixture(t, 'embedded')
  const { gateway, operate } = fixture
  const { token } = (await operate('login', { user_id: 'u1' })).data
  const ends: End[] = []
  for (const worker of gateway.workers()) ends.push(...(await openWithout(t, fixture, worker, token)))
  process.kill(gateway.workers()[0]!, 'SIGKILL')
  // The other worker has three of the first four at least, and this one three of the last.
  await until(() => ends.filter(({ closed }) => closed !== null).length >= 3)
  for (const end of ends) if (end.closed === null) end.send('hello')
  // One whose end has not arrived yet gets no answer.
  await until(() => ends.every(({ messages, closed }) => messages.length === 1 || closed !== null))
  t.ok(ends.filter(({ messages }) => messages.length === 1).length >= 3)
})
