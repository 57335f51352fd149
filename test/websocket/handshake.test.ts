import type { Socket } from 'node:net'
import t from 'tap'
import { call } from '../support/client.ts'
import { until } from '../support/until.ts'
import { heard, openWebSocketFixture, RAW_HANDSHAKE, rawCall } from '../support/websocket-fixture.ts'
import { open, openEnd, refusalOf } from '../support/websocket-sockets.ts'

/* Which clients can open a WebSocket, and how a handshake is handled. */

t.test('the upstream gets the identity of the client, and never the token', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const [byHeader, byQuery] = [await login('u1'), await login('u2')]
  await openEnd(t, fixture.url, {
    path: '/api/v1/c/live/room?a=1&b=2',
    token: byHeader,
    headers: { 'x-login-id': 'forged', 'x-app': 'kept', x_login_id: 'forged', cookie: 'c=1' },
  })
  await openEnd(t, fixture.url, { path: `/api/v1/c/live/room?a=1&token=${byQuery}&b=2&token2=kept` })
  await openEnd(t, fixture.url, { path: `/api/v1/c/live/room?token=${byQuery}` })
  const [first, second, third] = upstream.handshakes
  t.equal(first!.url, '/api/v1/c/live/room?a=1&b=2')
  t.equal(second!.url, '/api/v1/c/live/room?a=1&b=2&token2=kept')
  t.equal(third!.url, '/api/v1/c/live/room')
  t.match(first!.headers, { 'x-login-id': 'u1', 'x-login-type': 'CONSUMER', 'x-app': 'kept', cookie: 'c=1' })
  t.match(second!.headers, { 'x-login-id': 'u2', 'x-login-type': 'CONSUMER', 'x-forwarded-proto': 'http' })
  for (const { rawHeaders, url } of upstream.handshakes) {
    for (const secret of [byHeader, byQuery, 'forged']) t.notMatch([...rawHeaders, url].join('\n'), secret)
    t.notMatch(rawHeaders.join('\n'), /sec-websocket-extensions/i, 'nothing is compressed')
  }
  t.ok(await until(() => fixture.log.filter(line => line.includes('"status":101')).length === 3))
  const { text } = await call(fixture.internal, { path: '/metrics' })
  t.match(
    text,
    /dualgate_requests\w*\{[^}]*upstream="live"[^}]*status="1xx"[^}]*\} 3/,
    'they are counted as requests are',
  )
  for (const line of fixture.log) for (const token of [byHeader, byQuery]) t.notOk(line.includes(token), 'nor the log')
})

t.test('a handshake without a live session of the side is refused, and nothing reaches the upstream', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const token = await login('u1')
  const business = await fixture.signIn()
  t.equal(await refusalOf(t, fixture.url), 401, 'without a token')
  t.equal(await refusalOf(t, fixture.url, { token: business }), 401, 'with the other side’s')
  t.equal(await refusalOf(t, fixture.url, { token: `${token.slice(0, -4)}AAAA` }), 401, 'with a forged one')
  t.equal(await refusalOf(t, fixture.url, { path: '/api/v1/c/live?token=' }), 401, 'with an empty one')
  t.equal(await refusalOf(t, fixture.url, { path: `/api/v1/c/live?Token=${token}` }), 401, 'under another name')
  t.equal(await refusalOf(t, fixture.url, { path: `/api/v1/c/live?token=${token}&token=${token}` }), 401, 'with two')
  t.equal(await refusalOf(t, fixture.url, { path: `/api/v1/c/live?token=${token}`, token }), 400, 'here and there')
  t.equal(await refusalOf(t, fixture.url, { path: `/api/v1/c/guarded?token=${token}` }), 403, 'without the permission')
  t.equal(await refusalOf(t, fixture.url, { path: '/api/v1/c/%6cive', token }), 400, 'at an ambiguous path')
  t.equal(await refusalOf(t, fixture.url, { path: '/socket', token }), 404, 'where no rule speaks')
  t.equal(await refusalOf(t, fixture.url, { path: '/api/v1/c/echo', token }), 404, 'where there are no WebSockets')
  await fixture.operate('consumer', 'kickout', { user_id: 'u1' })
  t.equal(await refusalOf(t, fixture.url, { token }), 401, 'after a kickout')
  const { refused } = await open(t, fixture.url)
  t.match(JSON.parse(refused!.body), { code: 401, success: false, data: null })
  t.match(refused!.headers, { connection: 'close', 'content-type': /json/ })
  t.same(upstream.handshakes, [])
})

t.test('a handshake in absolute form is for our own authority alone, and its token goes nowhere', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const token = await login('u1')
  const ask = async (target: string): Promise<string | undefined> => {
    const { text, socket } = await rawCall(
      t,
      fixture,
      RAW_HANDSHAKE('none').replace('/api/v1/c/live', target).replace('Authorization: none\r\n', ''),
    )
    await until(() => text().includes('\r\n\r\n'))
    socket.destroy()
    return /^HTTP\/1\.1 (\d+)/.exec(text())?.[1]
  }
  t.equal(await ask(`http://x/api/v1/c/live?a=1&token=${token}`), '101')
  t.equal(upstream.handshakes[0]?.url, '/api/v1/c/live?a=1')
  t.equal(upstream.handshakes[0]?.headers['x-login-id'], 'u1')
  t.equal(await ask('http://x/api/v1/c/live'), '401')
  t.equal(await ask(`http://y/api/v1/c/live?token=${token}`), '400')
  t.equal(await ask(`ws://x/api/v1/c/live?token=${token}`), '400')
  t.equal(upstream.handshakes.length, 1)
})

t.test('?token= is for handshakes alone', async t => {
  const { fixture, login } = await openWebSocketFixture(t)
  const token = await login()
  const plain = await fixture.get(`/api/v1/c/live?token=${token}`)
  t.match(plain.json(), { code: 401 })
  const half = await fixture.call({ path: `/api/v1/c/live?token=${token}`, headers: { upgrade: 'websocket' } })
  t.match(half.json(), { code: 401 }, 'an Upgrade that Connection does not name')
  const other = await fixture.call({
    path: `/api/v1/c/live?token=${token}`,
    headers: { connection: 'Upgrade', upgrade: 'h2c' },
  })
  t.match(other.json(), { code: 401 }, 'nor one for another protocol')
})

t.test('an upgrade to another protocol is an ordinary request, with its body', async t => {
  const { fixture, login } = await openWebSocketFixture(t)
  const { status, text } = await fixture.call({
    method: 'POST',
    path: '/api/v1/c/echo',
    token: await login(),
    headers: { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' },
    body: { some: 'body' },
  })
  t.equal(status, 200)
  t.match(JSON.parse(text), { body: '{"some":"body"}' })
})

t.test('a public upstream accepts every client, and gets no token either', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const token = await login()
  const end = await openEnd(t, fixture.url, { path: `/api/v1/public/c/live?token=${token}` })
  end.send('hello')
  t.ok(await heard(end, 'echo: hello'))
  t.equal(upstream.handshakes[0]!.url, '/api/v1/public/c/live')
  t.notOk('x-login-id' in upstream.handshakes[0]!.headers)
})

t.test(
  'a token reaches no upstream by another spelling of its parameter, nor by the header of a public handshake',
  async t => {
    const { fixture, upstream, login } = await openWebSocketFixture(t)
    const token = await login()
    await openEnd(t, fixture.url, { path: `/api/v1/c/live?a=1&%74oken=${token}`, token })
    await openEnd(t, fixture.url, { path: '/api/v1/public/c/live', token })
    const [spelled, open] = upstream.handshakes
    t.equal(spelled!.url, '/api/v1/c/live?a=1')
    t.notMatch(open!.rawHeaders.join('\n'), token)
  },
)

t.test('pages of other origins are refused', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const token = await login()
  const own = new URL(fixture.url).host
  t.equal(await refusalOf(t, fixture.url, { token, headers: { origin: `http://${own}` } }), 101)
  t.equal(
    await refusalOf(t, fixture.url, { token, headers: { origin: `https://${own}` } }),
    101,
    'TLS may end before us',
  )
  for (const origin of [
    'https://evil.example',
    'null',
    `http://${own}.evil.example`,
    `http://evil.example/${own}`,
    '',
  ]) {
    t.equal(await refusalOf(t, fixture.url, { token, headers: { origin } }), 403, origin)
  }
  t.equal(upstream.handshakes.length, 2)
  const opened = (host: string, origin: string) => refusalOf(t, fixture.url, { token, headers: { host, origin } })
  t.equal(await opened('Admin.example:443', 'https://admin.example'), 101, 'some proxies write the port of the scheme')
  t.equal(await opened('admin.example:80', 'http://admin.example'), 101)
  t.equal(await opened('admin.example:8443', 'https://admin.example'), 403, 'another port is another origin')

  const listed = await openWebSocketFixture(t, { websocket: { origins: ['https://admin.example'] } })
  const other = await listed.login()
  t.equal(await refusalOf(t, listed.fixture.url, { token: other, headers: { origin: 'https://admin.example' } }), 101)
  t.equal(await refusalOf(t, listed.fixture.url, { token: other, headers: { origin: listed.fixture.url } }), 403)
  t.equal(await refusalOf(t, listed.fixture.url, { token: other }), 101, 'no browser')
})

t.test('an answer other than 101 is forwarded to the client', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const token = await login()
  upstream.refuse = (_request, socket) => {
    socket.end('HTTP/1.1 418 Teapot\r\nX-Why: tea\r\nX-Login-Id: forged\r\nContent-Length: 5\r\n\r\nshort')
    return true
  }
  const { refused } = await open(t, fixture.url, { token })
  t.match(refused, { status: 418, body: 'short', headers: { 'x-why': 'tea' } })
  t.notOk('x-login-id' in refused!.headers)
  const body = 'x'.repeat(3_000_000)
  upstream.refuse = (_request, socket) => {
    socket.end(`HTTP/1.1 503 Busy\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    return true
  }
  const long = await open(t, fixture.url, { token })
  t.equal(long.refused?.body.length, body.length)
})

t.test('an answer other than 101 that the upstream breaks off never looks complete', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const token = await login()
  const breaks: Record<string, (socket: Socket) => void> = {
    'a reset, where the end of the connection would be the end of the body': socket => socket.resetAndDestroy(),
    'an end before the end of the chunks': socket => socket.destroy(),
  }
  for (const [what, breakOff] of Object.entries(breaks)) {
    let asked: Socket | null = null
    const chunked = what.includes('chunks') ? 'Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n' : '\r\nshort'
    upstream.refuse = (_request, socket) => {
      asked = socket
      socket.write(`HTTP/1.1 503 Busy\r\n${chunked}`)
      return true
    }
    const { text, isClosed } = await rawCall(t, fixture, RAW_HANDSHAKE(token))
    t.ok(await until(() => text().includes('short')), what)
    breakOff(asked!)
    t.ok(await until(isClosed))
    t.match(text(), /^HTTP\/1\.1 503 .*\r\n5\r\nshort\r\n$/s, what)
  }
})

t.test('an upstream that does not speak the protocol is a bad gateway', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const token = await login()
  const head = 'HTTP/1.1 101 Switching Protocols\r\n'
  const upgraded = `${head}Connection: Upgrade\r\nUpgrade: websocket\r\n`
  const answers: Record<string, [string, number]> = {
    'the answer to another handshake': [`${upgraded}Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n`, 502],
    'no answer to the handshake': [`${upgraded}\r\n`, 502],
    'another protocol': [`${head}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n`, 502],
    'no protocol': [`${head}\r\n`, 502],
    'a body in a coding of its own': ['HTTP/1.1 403 No\r\nTransfer-Encoding: gzip\r\n\r\nx', 502],
    'an answer with an impossible status': ['HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n', 502],
    'no HTTP': ['hello\r\n', 502],
    nothing: ['', 502],
  }
  for (const [name, [answer, status]] of Object.entries(answers)) {
    upstream.refuse = (_request, socket) => {
      socket.end(answer)
      return true
    }
    t.equal(await refusalOf(t, fixture.url, { token }), status, name)
  }
  upstream.refuse = request => {
    request.headers['sec-websocket-protocol'] = 'unasked'
    return false
  }
  t.equal(await refusalOf(t, fixture.url, { token, protocols: ['asked'] }), 502, 'another sub-protocol')
})

t.test('an upstream that does not answer a handshake in time is a timeout', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t, { more: { timeouts: { response: '1s' } } })
  upstream.refuse = () => true
  t.equal(await refusalOf(t, fixture.url, { token: await login() }), 504)
})

t.test('an unreachable upstream is 502, after the next target was tried', async t => {
  const { upstream } = await openWebSocketFixture(t)
  const gone = await openWebSocketFixture(t, { more: { target: 'http://127.0.0.1:9' } })
  t.equal(await refusalOf(t, gone.fixture.url, { token: await gone.login() }), 502)
  const two = await openWebSocketFixture(t, {
    more: { target: undefined, targets: ['http://127.0.0.1:9', upstream.url] },
  })
  const token = await two.login()
  for (let i = 0; i < 4; i++) t.equal(await refusalOf(t, two.fixture.url, { token }), 101)
})

t.test('an invalid handshake is refused', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const token = await login()
  const good: Record<string, string> = {
    host: 'x',
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    authorization: token,
  }
  const statusOf = async (changes: Record<string, string>, path = '/api/v1/c/live'): Promise<string> => {
    const lines = Object.entries({ ...good, ...changes }).map(([name, value]) => `${name}: ${value}`)
    const { socket, text } = await rawCall(t, fixture, `GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    await until(() => /^HTTP\/1\.1 \d{3}/.test(text()))
    socket.destroy()
    return text().slice(9, 12)
  }
  t.equal(await statusOf({}), '101')
  t.equal(await statusOf({ upgrade: 'WebSocket' }), '101')
  const wrong: Record<string, string>[] = [
    { 'sec-websocket-version': '8' },
    { 'sec-websocket-key': 'short' },
    { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==, dGhlIHNhbXBsZSBub25jZQ==' },
    { 'content-length': '3' },
    { 'transfer-encoding': 'chunked' },
  ]
  for (const changes of wrong) t.equal(await statusOf(changes), '400', JSON.stringify(changes))
  t.equal(upstream.handshakes.length, 2)
})

t.test('own routes answer a handshake like any request', async t => {
  const { fixture } = await openWebSocketFixture(t)
  const { refused } = await open(t, fixture.url, { path: '/api/v1/public/b/captcha' })
  t.equal(refused!.status, 200)
  t.match(JSON.parse(refused!.body), { success: true })
})

t.test('a client that leaves before the upstream answers ends its handshake, and its place is free', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t, { websocket: { max_per_user: 1 } })
  const token = await login()
  const given: Socket[] = []
  upstream.refuse = (_request, socket) => given.push(socket.resume()) > 0
  for (const leave of ['end', 'resetAndDestroy'] as const) {
    const { socket } = await rawCall(t, fixture, RAW_HANDSHAKE(token))
    t.ok(await until(() => given.length === 1), leave)
    t.equal(await refusalOf(t, fixture.url, { token }), 429, 'as long as it waits')
    socket[leave]()
    const left = given.pop()!
    t.ok(await until(() => left.readableEnded))
  }
  upstream.refuse = null
  t.equal(await refusalOf(t, fixture.url, { token }), 101)
  t.notOk(
    fixture.log.some(line => line.includes('not served')),
    'which is no failure of the upstream',
  )
})

t.test('what a client sends before it has the answer arrives', async t => {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  let answer = (): void => {}
  upstream.refuse = (request, socket) => {
    answer = () => {
      upstream.refuse = null
      upstream.server.emit('upgrade', request, socket, Buffer.alloc(0))
    }
    return true
  }
  const { socket, text } = await rawCall(t, fixture, RAW_HANDSHAKE(await login()))
  t.ok(await until(() => upstream.handshakes.length === 1))
  // A masked text.
  const frame = Buffer.from([0x81, 0x85, 0, 0, 0, 0, ...Buffer.from('early')])
  socket.write(Buffer.concat(Array.from({ length: 20_000 }, () => frame)))
  answer()
  t.ok(await until(() => upstream.ends[0]?.messages.length === 20_000))
  t.ok(await until(() => text().endsWith('echo: early')))
})

t.test('a refused client that is still sending gets its answer', async t => {
  const { fixture } = await openWebSocketFixture(t)
  const { socket, text, isClosed } = await rawCall(t, fixture, RAW_HANDSHAKE('none') + 'x'.repeat(10_000_000))
  let fault: Error | null = null
  socket.on('error', error => {
    fault = error
  })
  t.ok(await until(isClosed))
  t.match(text(), /^HTTP\/1\.1 401 .*"code":401/s)
  t.equal(fault, null, 'and no reset')
})
