import { once } from 'node:events'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { call, callRaw } from '../support/client.ts'
import { type ForwardFixture, forwardTo, openForwardFixture, TOKEN } from '../support/forward-fixture.ts'
import { until } from '../support/until.ts'
import { type Recorder, startRawUpstream, startUpstream } from '../support/upstream.ts'

const C = '/api/v1/c/things'

let backend: Recorder
let fixture: ForwardFixture

t.before(async () => {
  backend = await startUpstream()
  fixture = await openForwardFixture({ upstreams: [{ target: backend.url }] })
})
t.teardown(async () => {
  await fixture.close()
  await backend.close()
})

const last = () => backend.requests.at(-1)!

/** Opens a request whose parts the test sends and receives itself. */
function open(method: string, path: string, headers: Record<string, string> = {}): ClientRequest {
  const request = httpRequest(fixture.url + path, {
    method,
    agent: false,
    headers: { authorization: `Bearer ${TOKEN.consumer}`, ...headers },
  })
  request.on('error', () => {})
  return request
}

const responseOf = async (request: ClientRequest): Promise<IncomingMessage> => {
  const [response] = await once(request, 'response')
  return response
}

t.test('every method arrives with its path and query, byte for byte', async t => {
  const queries = [
    '',
    '?',
    '?a=1&b=%2F%2e&c',
    '?x=%1&__proto__[y]=1&%',
    '?x=%ED%A0%80',
    '?/api/v1/public/b/',
    "?q='(;)+!*",
  ]
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    for (const query of queries) {
      const answer = await call(fixture.url, { method, path: C + query, token: TOKEN.consumer })
      t.equal(answer.status, 200, `${method} ${query}: ${answer.text}`)
      t.match(last(), { method, url: C + query })
    }
  }
})

t.test('a body arrives as it was sent, whatever its type', async t => {
  const TYPES = [
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'image/png',
  ]
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'GET']) {
    for (const type of TYPES) {
      const body = `not {json, ${type}`
      const answer = await call(fixture.url, {
        method,
        path: C,
        token: TOKEN.consumer,
        body,
        headers: { 'content-type': type },
      })
      t.equal(answer.status, 200, `${method} ${type}: ${answer.text}`)
      t.match(last(), { method, body, headers: { 'content-type': type, 'content-length': String(body.length) } })
      t.notOk(last().headers['transfer-encoding'])
    }
  }
})

t.test('a body without a type arrives without one', async t => {
  const request = open('POST', C)
  request.end('x')
  const response = await responseOf(request)
  response.resume()
  t.match(last(), { body: 'x', headers: { 'content-type': undefined, 'content-length': '1' } })
})

t.test('a body of unknown length arrives in chunks, one of length zero as none', async t => {
  for (const body of ['some text', '']) {
    const request = open('POST', C, { 'transfer-encoding': 'chunked' })
    request.end(body)
    const response = await responseOf(request)
    t.equal(response.statusCode, 200)
    response.resume()
    t.equal(last().body, body)
  }
  await call(fixture.url, { method: 'POST', path: C, token: TOKEN.consumer, body: '' })
  t.match(last(), { body: '', headers: { 'content-length': '0' } })
  await call(fixture.url, { method: 'POST', path: C, token: TOKEN.consumer })
  t.match(last(), { body: '', headers: { 'transfer-encoding': undefined } })
})

t.test('GET, HEAD and OPTIONS without a body are sent without one', async t => {
  for (const method of ['GET', 'HEAD', 'OPTIONS']) {
    await call(fixture.url, { method, path: C, token: TOKEN.consumer })
    t.match(last().headers, { 'content-length': undefined, 'transfer-encoding': undefined }, method)
  }
})

t.test('a body arrives while it is still being sent, and so does its answer', async t => {
  backend.take = (request, response) => {
    response.writeHead(200)
    request.on('data', chunk => response.write(chunk.toString().toUpperCase()))
    request.on('end', () => response.end())
  }
  t.teardown(() => {
    backend.take = null
  })
  const request = open('POST', C)
  request.flushHeaders()
  request.write('one')
  const response = await responseOf(request)
  t.equal(String((await once(response, 'data'))[0]), 'ONE')
  request.write('two')
  t.equal(String((await once(response, 'data'))[0]), 'TWO')
  request.end()
  await once(response, 'end')
})

t.test('an event arrives when it is sent, and the head before the first', async t => {
  let send: ((text: string) => void) | null = null
  backend.answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    send = text => response.write(text)
  }
  t.teardown(resetAnswer)
  const request = open('GET', C, { accept: 'text/event-stream' })
  request.end()
  const response = await responseOf(request)
  t.equal(response.headers['content-type'], 'text/event-stream')
  for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
    send!(event)
    t.equal(String((await once(response, 'data'))[0]), event)
  }
  request.destroy()
  t.ok(await until(() => backend.open === 0), 'the backend notices that the client left')
})

const okAnswer: Recorder['answer'] = (_request, response) => response.end('{"ok":true}')
function resetAnswer(): void {
  backend.answer = okAnswer
}

t.test('statuses, reasons aside, and headers arrive as the upstream gave them', async t => {
  t.teardown(resetAnswer)
  for (const status of [200, 201, 202, 206, 301, 302, 400, 401, 403, 404, 409, 418, 429, 500, 502, 503, 599]) {
    backend.answer = (_request, response) =>
      response
        .writeHead(status, [
          'Set-Cookie',
          'a=1',
          'Set-Cookie',
          'b=2',
          'Location',
          '/api/v1/c/other',
          'X-Latin',
          'gr\xfcn',
        ])
        .end('text')
    const answer = await call(fixture.url, { path: C, token: TOKEN.consumer })
    t.match(answer, {
      status,
      text: 'text',
      headers: { 'set-cookie': ['a=1', 'b=2'], location: '/api/v1/c/other', 'x-latin': 'gr\xfcn' },
    })
    t.ok(answer.headers['x-request-id'], 'the gateway adds the id of the request')
  }
})

t.test('bytes beyond ASCII in headers arrive as they were sent, both ways', async t => {
  t.teardown(resetAnswer)
  backend.answer = (request, response) =>
    response.writeHead(200, { 'x-back': request.headers['x-there'] as string }).end()
  const text = await callRaw(
    fixture.url,
    Buffer.from(
      `GET ${C} HTTP/1.1\r\nHost: h\r\nAuthorization: ${TOKEN.consumer}\r\nX-There: \xe4\xbd\xa0\xff\r\nConnection: close\r\n\r\n`,
      'latin1',
    ),
  )
  t.match(text, 'x-back: \xe4\xbd\xa0\xff\r\n')
})

t.test('bytes beyond ASCII in headers arrive as they were sent when the body comes later', async t => {
  let finish = (): void => {}
  // Not by writeHead() and flushHeaders(), which write UTF-8.
  backend.answer = (_request, { socket }) => {
    finish = () => void socket!.end('text')
    socket!.write('HTTP/1.1 200 OK\r\nX-Back: \xe4\xbd\xa0\xff\r\nContent-Length: 4\r\n\r\n', 'latin1')
  }
  t.teardown(resetAnswer)
  const socket = connect(fixture.port, '127.0.0.1').setEncoding('latin1')
  socket.write(`GET ${C} HTTP/1.1\r\nHost: h\r\nAuthorization: ${TOKEN.consumer}\r\nConnection: close\r\n\r\n`)
  let text = ''
  for await (const part of socket) {
    text += part
    if (text.endsWith('\r\n\r\n')) finish()
  }
  t.match(text, 'X-Back: \xe4\xbd\xa0\xff\r\n')
  t.ok(text.endsWith('\r\n\r\ntext'))
})

t.test('HEAD, 204 and 304 have no body and end at once', async t => {
  t.teardown(resetAnswer)
  backend.answer = (_request, response) => response.writeHead(200, { 'content-length': '1234', etag: '"e"' }).end()
  const head = await call(fixture.url, { method: 'HEAD', path: C, token: TOKEN.consumer })
  t.match(head, { status: 200, text: '', headers: { 'content-length': '1234', etag: '"e"' } })

  backend.answer = (_request, response) => response.writeHead(204, { 'x-a': '1' }).end()
  const empty = await call(fixture.url, { method: 'DELETE', path: C, token: TOKEN.consumer })
  t.match(empty, {
    status: 204,
    text: '',
    headers: { 'x-a': '1', 'content-length': undefined, 'transfer-encoding': undefined },
  })

  backend.answer = (_request, response) => response.writeHead(304, { etag: '"e"', 'content-length': '1234' }).end()
  for (let i = 0; i < 3; i++) {
    const unchanged = await call(fixture.url, { path: C, token: TOKEN.consumer, headers: { 'if-none-match': '"e"' } })
    t.match(unchanged, { status: 304, text: '', headers: { etag: '"e"', 'content-length': '1234' } })
  }
})

t.test('trailers of the response arrive after its body', async t => {
  t.teardown(resetAnswer)
  backend.answer = (_request, response) => {
    response.writeHead(200, { trailer: 'X-Sum, X-Login-Id' })
    response.write('body')
    response.addTrailers({ 'X-Sum': 'abc', 'X-Login-Id': 'forged' })
    response.end()
  }
  const request = open('GET', C)
  request.end()
  const response = await responseOf(request)
  t.equal(response.headers.trailer, 'X-Sum, X-Login-Id')
  response.resume()
  await once(response, 'end')
  t.same(response.trailers, { 'x-sum': 'abc' })
  t.match(
    await callRaw(fixture.url, `GET ${C} HTTP/1.0\r\nAuthorization: ${TOKEN.consumer}\r\n\r\n`),
    /^HTTP\/1\.1 200 OK\r\n.*\r\n\r\nbody$/s,
  )
})

t.test('informational responses do not disturb the final one', async t => {
  t.teardown(resetAnswer)
  backend.answer = (_request, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' })
    response.writeProcessing()
    response.writeEarlyHints({ link: '</style.css>; rel=preload' })
    response.end('final')
  }
  t.match(await call(fixture.url, { path: C, token: TOKEN.consumer }), { status: 200, text: 'final' })
})

t.test('a client that waits for 100 Continue gets it, and the expectation is not forwarded', async t => {
  const request = open('POST', C, { expect: '100-continue', 'content-length': '4' })
  request.flushHeaders()
  await once(request, 'continue')
  request.end('body')
  const response = await responseOf(request)
  t.equal(response.statusCode, 200)
  response.resume()
  t.match(last(), { body: 'body', headers: { expect: undefined } })
})

t.test('an HTTP/1.0 client gets its answer without chunks, and the end of the connection', async t => {
  t.teardown(resetAnswer)
  backend.answer = (_request, response) => {
    response.write('one ')
    response.end('two')
  }
  const text = await callRaw(fixture.url, `GET ${C} HTTP/1.0\r\nAuthorization: ${TOKEN.consumer}\r\n\r\n`)
  t.match(text, /^HTTP\/1\.1 200 OK\r\n/)
  t.ok(text.endsWith('\r\n\r\none two'), text)
  t.match(last(), { httpVersion: '1.1', headers: { 'x-forwarded-host': undefined, host: `127.0.0.1:${backend.port}` } })
})

t.test('requests on one connection are answered in their order', async t => {
  t.teardown(resetAnswer)
  backend.answer = (request, response) =>
    setTimeout(() => response.end(request.url), request.url!.endsWith('1') ? 50 : 0)
  const one = (n: number) => `GET ${C}?${n} HTTP/1.1\r\nHost: h\r\nAuthorization: ${TOKEN.consumer}\r\n`
  const text = await callRaw(fixture.url, `${one(1)}\r\n${one(2)}\r\n${one(3)}Connection: close\r\n\r\n`)
  t.same(text.match(/things\?\d/g), ['things?1', 'things?2', 'things?3'])
})

t.test('a large body is the same at the other end, in both directions', async t => {
  t.teardown(resetAnswer)
  const big = Buffer.alloc(8 * 1024 * 1024, 'abcdefghijklmnopqrstuvwxyz0123456789').toString()
  backend.answer = (_request, response, arrived) => response.end(arrived.body)
  const answer = await call(fixture.url, { method: 'POST', path: C, token: TOKEN.consumer, body: big })
  t.equal(answer.text.length, big.length)
  t.ok(answer.text === big)
})

t.test('the identity that arrives is the session’s, not the client’s', async t => {
  await call(fixture.url, {
    path: C,
    token: TOKEN.consumer,
    headers: { 'x-login-id': '1', X_Login_Id: '2', 'X.Login.Type': 'BUSINESS', connection: 'x-login-id, x-login-type' },
  })
  t.match(last().headers, {
    'x-login-id': 'user-7',
    'x-login-type': 'CONSUMER',
    x_login_id: undefined,
    'x.login.type': undefined,
    authorization: undefined,
  })
  await call(fixture.url, { path: '/api/v1/sys/users', token: TOKEN.business })
  t.match(last().headers, { 'x-login-id': 'admin-1', 'x-login-type': 'BUSINESS' })
  await call(fixture.url, { path: '/api/v1/public/c/news', token: TOKEN.consumer, headers: { 'x-login-id': '1' } })
  t.match(last().headers, { 'x-login-id': undefined, 'x-login-type': undefined, authorization: /^Bearer/ })
})

t.test('OPTIONS passes without a session, and carries nothing that authenticates', async t => {
  const headers = { cookie: 'a=1', 'x-login-id': '1', 'access-control-request-method': 'POST' }
  t.equal((await call(fixture.url, { method: 'OPTIONS', path: C, token: TOKEN.consumer, headers })).status, 200)
  t.match(last().headers, {
    'access-control-request-method': 'POST',
    cookie: undefined,
    authorization: undefined,
    'x-login-id': undefined,
  })
})

t.test('the address is the socket’s, or what a trusted proxy says', async t => {
  const forged = {
    'x-forwarded-for': '203.0.113.9',
    'x-forwarded-proto': 'https',
    'x-real-ip': '203.0.113.9',
    forwarded: 'for=1',
  }
  await call(fixture.url, { path: C, token: TOKEN.consumer, headers: forged })
  t.match(last().headers, {
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-proto': 'http',
    'x-real-ip': undefined,
    forwarded: undefined,
  })
  const trusting = await openForwardFixture({ upstreams: [{ target: backend.url }], trustedProxies: ['127.0.0.1'] })
  t.teardown(() => trusting.close())
  await call(trusting.url, { path: C, token: TOKEN.consumer, headers: forged })
  t.match(last().headers, {
    'x-forwarded-for': '203.0.113.9',
    'x-forwarded-proto': 'https',
    'x-forwarded-port': /^\d+$/,
    'x-real-ip': undefined,
  })
  for (const [proto, scheme, port] of [
    ['wss', 'https', '443'],
    ['ws', 'http', '80'],
    ['https, wss', 'https', '443'],
  ] as const) {
    const headers = { ...forged, 'x-forwarded-proto': proto, 'x-forwarded-host': 'shop.example' }
    await call(trusting.url, { path: C, token: TOKEN.consumer, headers })
    t.match(last().headers, { 'x-forwarded-proto': scheme, 'x-forwarded-port': port }, `${proto}, as of a WebSocket`)
  }
})

t.test('Host is the target’s, or the client’s where it is preserved', async t => {
  await call(fixture.url, { path: C, token: TOKEN.consumer, headers: { host: 'shop.example' } })
  t.match(last().headers, { host: `127.0.0.1:${backend.port}`, 'x-forwarded-host': 'shop.example' })
  const preserving = await forwardTo(t, backend.url, { host: 'preserve' })
  await call(preserving.url, { path: C, token: TOKEN.consumer, headers: { host: 'shop.example' } })
  t.match(last().headers, { host: 'shop.example' })
})

t.test('a rewritten path is what arrives, and the query stays', async t => {
  const rewriting = await forwardTo(t, backend.url, { match: '/api/v1/c/things', rewrite: '/v9' })
  await call(rewriting.url, { path: `${C}/7?a=%2e`, token: TOKEN.consumer })
  t.equal(last().url, '/v9/7?a=%2e')
  t.equal((await call(rewriting.url, { path: '/api/v1/c/thingsx', token: TOKEN.consumer })).status, 404)
})

t.test('what our own hooks say to the client goes with the upstream’s answer', async t => {
  t.teardown(resetAnswer)
  const own = await openForwardFixture({
    upstreams: [{ target: backend.url }],
    prepare: app =>
      app.addHook('onRequest', async (_request, reply) => {
        reply.header('access-control-allow-origin', 'https://admin.example').header('vary', 'Origin')
      }),
  })
  t.teardown(() => own.close())
  backend.answer = (_request, response) =>
    response.writeHead(200, { 'access-control-allow-origin': '*', vary: 'Accept', 'x-request-id': 'theirs' }).end()
  const { headers } = await call(own.url, { path: C, token: TOKEN.consumer })
  t.match(headers, { 'access-control-allow-origin': 'https://admin.example', vary: 'Accept, Origin' })
  t.not(headers['x-request-id'], 'theirs')
})

t.test('a request that did not pass the gate is never forwarded', async t => {
  const before = backend.requests.length
  const gateless = await openForwardFixture({
    upstreams: [{ target: backend.url }],
    prepare: app =>
      app.addHook('preHandler', async request => {
        request.session = null
      }),
  })
  t.teardown(() => gateless.close())
  t.equal((await call(gateless.url, { path: C, token: TOKEN.consumer })).status, 500)
  t.equal(backend.requests.length, before)
})

t.test('an upstream that answers by the old rules is understood', async t => {
  const old = await startRawUpstream(socket => socket.end('HTTP/1.0 200 OK\r\nX-Old: yes\r\n\r\nuntil the end'))
  t.teardown(() => old.close())
  const { url } = await forwardTo(t, old.url)
  t.match(await call(url, { path: C, token: TOKEN.consumer }), {
    status: 200,
    text: 'until the end',
    headers: { 'x-old': 'yes' },
  })
})
