import type { Socket } from 'node:net'
import t from 'tap'
import { call } from '../support/client.ts'
import { randomBelow } from '../support/random.ts'
import { until } from '../support/until.ts'
import { accept, heard, openWebSocketFixture, RAW_HANDSHAKE, rawCall } from '../support/websocket-fixture.ts'
import { openEnd } from '../support/websocket-sockets.ts'

/* Clients and an upstream that do everything wrong, at any moment: nothing of it stays, and others are served. */

const ROUNDS = 8
const CLIENTS = 30

const pick = <T>(...of: readonly T[]): T => of[randomBelow(of.length)]!
const aTimestamp = () => new Promise(resolve => setTimeout(resolve, pick(0, 1, 5, 20)))

const FRAMES = [
  [0x81, 0x81, 0, 0, 0, 0, 97],
  [0x81, 0x01, 97],
  [0x81, 0xfe, 0, 200],
  [0x88, 0x80, 1, 2, 3, 4],
  [0x88, 2, 3, 0xe8],
  [0xff, 0xff, 0xff],
  Array<number>(70_000).fill(0x81),
].map(bytes => Buffer.from(bytes))

const leave = (socket: Socket): unknown => socket[pick('end', 'destroy', 'resetAndDestroy')]()

t.test('hostile clients and upstreams leave no resources in use', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t, {
    websocket: { max_per_user: 10_000 },
    more: { ejection: 'off' },
  })
  upstream.refuse = (request, socket) => {
    const how = randomBelow(6)
    if (how < 2) return false
    socket.resume().on('end', () => socket.end())
    if (how < 4) accept(request, socket, pick(Buffer.alloc(0), ...FRAMES))
    else socket.write(pick('HTTP/1.1 ', 'HTTP/1.1 101 ?\r\n\r\n', 'HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\nno'))
    void aTimestamp().then(() => leave(socket))
    return true
  }
  let token = await login('u1')
  const callOnce = async (): Promise<void> => {
    const bytes = RAW_HANDSHAKE(pick(token, token, token, 'none'))
    const { socket } = await rawCall(
      t,
      fixture,
      bytes.slice(0, pick(bytes.length, bytes.length, randomBelow(bytes.length))),
    )
    await aTimestamp()
    for (let i = randomBelow(3); i > 0; i--) socket.write(pick(...FRAMES))
    await aTimestamp()
    leave(socket)
  }
  /** On a busy machine the others may all have left before the gateway reads what they sent. */
  const callPatiently = async (): Promise<void> => {
    const before = upstream.handshakes.length
    const { socket } = await rawCall(t, fixture, RAW_HANDSHAKE(token))
    await until(() => upstream.handshakes.length > before)
    leave(socket)
  }
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all([callPatiently(), ...Array.from({ length: CLIENTS }, callOnce)])
    await fixture.operate('consumer', 'kickout', { user_id: 'u1' })
    token = await login('u1')
  }
  t.ok(upstream.handshakes.length >= ROUNDS, `${upstream.handshakes.length} handshakes reached the upstream`)
  const open = async (): Promise<string | undefined> =>
    /^dualgate_websockets (\d+)$/m.exec((await call(fixture.internal, { path: '/metrics' })).text)?.[1]
  t.ok(await until(async () => (await open()) === '0'))
  t.same(
    fixture.log.filter(line => line.includes('"level":50')),
    [],
    'and nothing of it was a fault of ours',
  )
  upstream.refuse = null
  const end = await openEnd(t, fixture.url, { token })
  end.send('hello')
  t.ok(await heard(end, 'echo: hello'))
})
