import { once } from 'node:events'
import t from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log/log.ts'
import { createGateway } from '../../src/gateway/gateway.ts'
import { MAX_UNKNOWN } from '../../src/store/session-watch.ts'
import { clockOf } from '../support/clock.ts'
import { someone } from '../support/gateway-fixture.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { acceptByHand, heard, openWebSocketFixture, openWithinFrame } from '../support/websocket-fixture.ts'
import { closingOf, openEnd, refusalOf } from '../support/websocket-sockets.ts'

t.jobs = 4

/* When the gateway closes WebSockets, and how. */

t.test('a quiet WebSocket is closed after its idle time, one with pings is not', async t => {
  const { fixture, login } = await openWebSocketFixture(t, { websocket: { idle_timeout: '2s' } })
  const token = await login()
  const [quiet, busy] = [await openEnd(t, fixture.url, { token }), await openEnd(t, fixture.url, { token })]
  const pinging = setInterval(() => busy.ping('x'), 100)
  t.teardown(() => clearInterval(pinging))
  t.same(await closingOf(quiet), { code: 1001, reason: 'going away' })
  t.equal(busy.closed, null)
})

t.test('the limits for all WebSockets and for each user are enforced', async t => {
  const { fixture, login } = await openWebSocketFixture(t, { websocket: { max_connections: 3, max_per_user: 2 } })
  const [one, other] = [await login('u1'), await login('u2')]
  const first = await openEnd(t, fixture.url, { token: one })
  await openEnd(t, fixture.url, { token: await login('u1') })
  t.equal(await refusalOf(t, fixture.url, { token: one }), 429)
  await openEnd(t, fixture.url, { token: other })
  t.equal(await refusalOf(t, fixture.url, { token: other }), 503)
  first.close()
  await closingOf(first)
  t.ok(
    await until(async () => (await refusalOf(t, fixture.url, { token: one })) === 101),
    'a place that is left is free',
  )
})

for (const store of ['embedded', 'redis'] as const) {
  const skip = store === 'redis' && withoutRedis
  t.test(`WebSockets are closed when their session ends, ${store} store`, { skip }, async t => {
    const { fixture, upstream, login } = await openWebSocketFixture(t, {
      store,
      config: { session_cache: { consumer: 'tracking' } },
    })
    const endings: Record<string, (token: string, userId: string) => Promise<unknown>> = {
      'a logout': token => fixture.post('/api/v1/c/logout', undefined, token),
      'a kickout': (_token, user_id) => fixture.operate('consumer', 'kickout', { user_id }),
      'a kickout of the token': (token, user_id) => fixture.operate('consumer', 'kickout-token', { user_id, token }),
      'a kickout by another gateway': (_token, userId) => fixture.store.sessions.removeAll('CONSUMER', userId),
      'a short renewal': token => fixture.operate('consumer', 'renew-timeout', { token, seconds: 1 }),
      ...(fixture.redis !== null && {
        'a DEL': token => fixture.redis!.cli('DEL', `svc:auth:CONSUMER:token:${token}`),
      }),
    }
    const bystander = await openEnd(t, fixture.url, { token: await login() })
    for (const [name, ending] of Object.entries(endings)) {
      const userId = someone()
      const token = await login(userId)
      const ends = [
        await openEnd(t, fixture.url, { token }),
        await openEnd(t, fixture.url, { path: `/api/v1/c/live?token=${token}` }),
      ]
      const behind = upstream.ends.slice(-2)
      await ending(token, userId)
      for (const end of ends) t.same(await closingOf(end), { code: 4401, reason: 'session ended' }, name)
      for (const end of behind)
        t.same(await closingOf(end), { code: 4401, reason: 'session ended' }, `${name}, upstream`)
    }
    bystander.send('hello')
    t.ok(await heard(bystander, 'echo: hello'), 'no other WebSocket is closed')
  })
}

t.test('in the middle of a frame the rest of it is sent before the close frame', async t => {
  const { fixture, end, socket } = await openWithinFrame(t)
  // At once, as an upstream does: the gateway waits for the rest no longer than a second.
  const notified = once(socket, 'data').then(() => {
    const { closed } = end
    socket.write(Buffer.concat([Buffer.alloc(50, 'x'), Buffer.from([0x81, 1, 0x79])]))
    return closed
  })
  await fixture.operate('consumer', 'kickout', { user_id: 'u1' })
  t.equal(await notified, null, 'the upstream is notified while the client is open')
  t.same(await closingOf(end), { code: 4401, reason: 'session ended' })
  const texts = end.messages.map(({ text }) => text)
  t.same(texts, ['x'.repeat(100)], 'and nothing behind it')
})

t.test('an upstream that does not end its frame does not keep the client', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const behind = acceptByHand(upstream)
  const end = await openEnd(t, fixture.url, { token: await login('u1') })
  const before = end.socket.bytesRead
  behind[0]!.write(Buffer.from([0x81, 100, 0x78]))
  t.ok(await until(() => end.socket.bytesRead > before))
  await fixture.operate('consumer', 'kickout', { user_id: 'u1' })
  t.match(await closingOf(end), { code: 1006 })
})

t.test('where it is enforced, disabling a user closes what the user has open', async t => {
  const { fixture, login } = await openWebSocketFixture(t, { config: { disable: { enforce: 'request' } } })
  const end = await openEnd(t, fixture.url, { token: await login('u1') })
  await fixture.operate('consumer', 'disable', { user_id: 'u1', seconds: 60 })
  t.match(await closingOf(end), { code: 4401 })
})

t.test('while the store fails WebSockets are kept for a while, and then closed', { skip: withoutRedis }, async t => {
  const { fixture, login } = await openWebSocketFixture(t, { store: 'redis' })
  let ahead = 0
  const clock = clockOf(() => systemClock.now() + ahead)
  const gateway = await createGateway(fixture.settings, { clock, log: createLog('silent') })
  t.teardown(() => gateway.close())
  const { public: url } = await gateway.listen()
  const end = await openEnd(t, url, { token: await login() })
  fixture.redis!.pause()
  t.teardown(() => fixture.redis!.resume())
  await new Promise(resolve => setTimeout(resolve, 3000))
  end.send('still here')
  t.ok(await heard(end, 'echo: still here'), 'a short outage ends nothing')
  ahead = MAX_UNKNOWN
  t.same(await closingOf(end), { code: 1013, reason: 'try again later' })
})

t.test('a closing gateway closes its WebSockets with 1001', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const ends = [
    await openEnd(t, fixture.url, { token: await login() }),
    await openEnd(t, fixture.url, { token: await login() }),
  ]
  // One that says nothing to it.
  ends[1]!.socket.pause()
  await fixture.gateway.close()
  t.same(await closingOf(ends[0]!), { code: 1001, reason: 'going away' })
  for (const end of upstream.ends) t.match(await closingOf(end), { code: 1001 })
})

t.test('a gateway that drains closes its WebSockets one after the other, and lets none wait that is alone', async t => {
  const TIME = 800
  const { fixture, login } = await openWebSocketFixture(t)
  const token = await login()
  const ends = [await openEnd(t, fixture.url, { token })]
  for (let i = 0; i < 3; i++) ends.push(await openEnd(t, fixture.url, { token }))
  const since = performance.now()
  const closed = fixture.gateway.close({ drain: { requests: TIME, websockets: TIME } })
  const times = await Promise.all(
    ends.map(end => closingOf(end).then(closing => ({ code: closing?.code, at: performance.now() - since }))),
  )
  t.same(
    times.map(({ code }) => code),
    [1001, 1001, 1001, 1001],
  )
  // Timers never fire early, so these are the earliest times at which each may be closed.
  for (const [i, { at }] of times.entries())
    t.ok(at >= (i * TIME) / ends.length - 10, `the ${i + 1}th is not closed early`)
  t.equal(await closed, true)
})
