import { connect, type Socket } from 'node:net'
import t from 'tap'
import { until } from '../support/until.ts'
import { accept, heard, openWebSocketFixture, RAW_HANDSHAKE, rawCall } from '../support/websocket-fixture.ts'
import { closingOf, openEnd } from '../support/websocket-sockets.ts'

/* What passes through an open WebSocket, and what does not. */

t.test('messages, pings and sub-protocols pass in both directions', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const end = await openEnd(t, fixture.url, { token: await login(), protocols: ['other', 'chat'] })
  t.equal(end.protocol, 'other')
  const [behind] = upstream.ends
  end.send('hello')
  t.ok(await heard(end, 'echo: hello'))
  end.send(Buffer.from([1, 2, 3]))
  t.ok(await until(() => end.messages.some(({ isBinary, text }) => isBinary && text === '\u0001\u0002\u0003')))
  behind!.send('unasked')
  t.ok(await heard(end, 'unasked'))
  end.ping('up')
  behind!.ping('down')
  t.ok(await until(() => behind!.pings.includes('up') && end.pongs.includes('up')))
  t.ok(await until(() => end.pings.includes('down') && behind!.pongs.includes('down')))
})

t.test('the codes and reasons of close frames pass in both directions', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const token = await login()
  const first = await openEnd(t, fixture.url, { token })
  first.close(4005, 'from the client')
  t.same(await closingOf(upstream.ends[0]!), { code: 4005, reason: 'from the client' })
  t.same(await closingOf(first), { code: 4005, reason: 'from the client' })
  const second = await openEnd(t, fixture.url, { token })
  upstream.ends[1]!.close(3001, 'from the upstream')
  t.same(await closingOf(second), { code: 3001, reason: 'from the upstream' })
  t.same(await closingOf(upstream.ends[1]!), { code: 3001, reason: 'from the upstream' })
})

t.test('a client who breaks the order of the protocol ends its own connection, and nothing else', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const token = await login()
  const bystander = await openEnd(t, fixture.url, { token })

  const pipelined = await rawCall(
    t,
    fixture,
    `GET /api/v1/c/echo HTTP/1.1\r\nHost: x\r\nAuthorization: ${token}\r\n\r\n${RAW_HANDSHAKE(token)}`,
  )
  t.ok(await until(() => pipelined.isClosed() || pipelined.text().includes('101')), 'a handshake behind a request')
  pipelined.socket.destroy()

  const smuggler = await rawCall(t, fixture, `${RAW_HANDSHAKE(token)}GET /api/v1/sys/user HTTP/1.1\r\nHost: x\r\n\r\n`)
  t.ok(await until(() => smuggler.isClosed()), 'a request behind a handshake')
  t.match(smuggler.text(), /^HTTP\/1\.1 101 /)
  t.notMatch(smuggler.text().slice(12), 'HTTP/1.1')
  t.ok(await until(() => upstream.ends.at(-1)!.closed !== null))

  const early = await rawCall(t, fixture, RAW_HANDSHAKE('none'))
  early.socket.resetAndDestroy()
  const { socket } = await rawCall(t, fixture, RAW_HANDSHAKE(token))
  setTimeout(() => socket.resetAndDestroy(), 1)
  bystander.send('still here')
  t.ok(await heard(bystander, 'echo: still here'))
})

t.test('a client who leaves during the handshake leaves nothing behind', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const asked: (() => Socket)[] = []
  upstream.refuse = (request, socket) => {
    socket.resume().on('end', () => socket.end())
    asked.push(() => {
      accept(request, socket)
      return socket
    })
    return true
  }
  const token = await login()
  for (const leave of ['end', 'resetAndDestroy'] as const) {
    const { socket } = await rawCall(t, fixture, RAW_HANDSHAKE(token))
    t.ok(await until(() => asked.length > 0))
    socket[leave]()
    await new Promise(resolve => setTimeout(resolve, 100))
    const behind = asked.pop()!()
    t.ok(await until(() => behind.destroyed), leave)
  }
})

t.test('frames that arrive with the handshake, on either side, are not lost', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const token = await login()
  const mask = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]).toString('latin1')
  const { hostname, port } = new URL(fixture.url)
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.write(RAW_HANDSHAKE(token) + mask, 'latin1')
  t.ok(await until(() => upstream.ends[0]?.messages[0]?.text === 'hi'))
  upstream.refuse = (request, behind) => accept(request, behind, Buffer.from([0x81, 2, 0x68, 0x69]))
  const end = await openEnd(t, fixture.url, { token })
  t.ok(await heard(end, 'hi'))
})

t.test('a message over the limit ends the WebSocket with 1009', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t, { websocket: { max_message: '1KiB' } })
  const end = await openEnd(t, fixture.url, { token: await login() })
  end.send('x'.repeat(1000))
  t.ok(await until(() => end.messages.length === 1))
  upstream.ends[0]!.send('y'.repeat(100_000))
  t.ok(await until(() => end.messages.length === 2), 'the limit is that of clients')
  end.send('x'.repeat(5000))
  t.match(await closingOf(end), { code: 1009 })
  t.equal(upstream.ends[0]!.messages.length, 1)
  t.ok(await until(() => upstream.ends[0]!.closed !== null))
})

t.test('a lost upstream connection closes the client', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const token = await login()
  const [gone, half] = [await openEnd(t, fixture.url, { token }), await openEnd(t, fixture.url, { token })]
  upstream.ends[0]!.socket.resetAndDestroy()
  t.same(await closingOf(gone), { code: 1014, reason: 'bad gateway' })
  upstream.ends[1]!.socket.end(Buffer.from([0x81, 50, 0x68]))
  t.match(await closingOf(half), { code: 1006 }, 'nothing can be said in the middle of a frame')
})

t.test('a lost client connection ends the upstream’s WebSocket', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const end = await openEnd(t, fixture.url, { token: await login() })
  end.socket.resetAndDestroy()
  t.match(await closingOf(upstream.ends[0]!), { code: 1006 })
})

t.test('a client that leaves without a close frame is not logged as a failure of the upstream', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const token = await login()
  const closings = () => fixture.log.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'websocket closed')
  const left = await openEnd(t, fixture.url, { token })
  left.socket.end()
  t.match(await closingOf(upstream.ends[0]!), { code: 1006 })
  t.ok(await until(() => closings().length === 1))
  t.notOk('code' in closings()[0], 'the upstream only followed')
  upstream.refuse = (request, socket) => {
    socket.resume().on('end', () => socket.end(Buffer.from([0x81, 50, 0x68])))
    return accept(request, socket)
  }
  const other = await openEnd(t, fixture.url, { token })
  other.socket.end()
  t.ok(await until(() => closings().length === 2))
  t.notOk('code' in closings()[1], 'in the middle of a frame too')
})

t.test('a side that reads nothing gets no more than its buffers hold', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  upstream.echoes = false
  const end = await openEnd(t, fixture.url, { token: await login() })
  const behind = upstream.ends[0]!
  const message = Buffer.alloc(65_536, 'x')
  for (const [from, to] of [
    [behind, end],
    [end, behind],
  ] as const) {
    to.socket.pause()
    const before = from.socket.bytesWritten
    for (let i = 0; i < 1000; i++) from.send(message)
    let settled = 0
    let last = -1
    t.ok(
      await until(() => {
        const taken = from.socket.bytesWritten - from.socket.writableLength - before
        settled = taken === last && taken > 0 ? settled + 1 : 0
        last = taken
        return settled > 50
      }),
    )
    t.ok(last < 40_000_000, `${last} bytes of 65 million were taken: what the system holds, and little more`)
    to.socket.resume()
    t.ok(await until(() => to.messages.length >= 1000), 'and all of it arrives in the end')
    to.messages.length = 0
  }
})
