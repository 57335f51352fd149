import { once } from 'node:events'
import t from 'tap'
import { accept, openWebSocketFixture, openWithinFrame } from '../support/websocket-fixture.ts'
import { closingOf, openEnd } from '../support/websocket-sockets.ts'

/* A gateway that does not run for a while does not take its own stall for the silence of an upstream. */

/** Until this turn of the event loop is over nothing is read, and timers are the first that runs then. */
const stallSoon = (milliseconds: number): void =>
  void setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds))

t.test('an upstream that agrees to a WebSocket while the gateway does not run has agreed', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t, { more: { timeouts: { response: '2s' } } })
  upstream.refuse = (request, socket) => {
    stallSoon(4000)
    return accept(request, socket)
  }
  const end = await openEnd(t, fixture.url, { token: await login() })
  t.equal(end.closed, null)
})

t.test('the rest of a frame that arrives while the gateway does not run is sent before the close frame', async t => {
  const { fixture, end, socket } = await openWithinFrame(t)
  const notified = once(socket, 'data').then(() => {
    socket.write(Buffer.alloc(50, 'x'))
    stallSoon(3000)
  })
  await fixture.operate('consumer', 'kickout', { user_id: 'u1' })
  await notified
  t.same(await closingOf(end), { code: 4401, reason: 'session ended' })
  t.same(
    end.messages.map(({ text }) => text),
    ['x'.repeat(100)],
  )
})
