import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { call, callRaw } from '../support/client.ts'
import { type ForwardFixture, openForwardFixture, TOKEN } from '../support/forward-fixture.ts'
import { until } from '../support/until.ts'

const C = '/api/v1/c/orders/7'

let fixture: ForwardFixture

t.before(async () => {
  fixture = await openForwardFixture({
    upstreams: [
      { name: 'echo', match: '/api', target: 'builtin:echo' },
      { name: 'rewriting', match: '/api/v1/c/orders', target: 'builtin:echo', rewrite: '/v2', host: 'preserve' },
    ],
  })
})
t.teardown(() => fixture.close())

t.test('the echo answers with what a backend would have received', async t => {
  const answer = await call(fixture.url, {
    path: '/api/v1/c/things/7?a=%2f&a=2',
    token: TOKEN.consumer,
    headers: { 'X-Custom': ['one', 'two'], 'x-login-id': 'forged', host: 'shop.example' },
  })
  t.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  const { headers, ...rest } = answer.json()
  t.same(rest, {
    method: 'GET',
    url: '/api/v1/c/things/7?a=%2f&a=2',
    path: '/api/v1/c/things/7',
    query: 'a=%2f&a=2',
    body: '',
    body_bytes: 0,
  })
  const { 'x-request-id': id, trace_id: traceId, ...sent } = headers
  t.same(sent, {
    host: 'echo',
    'x-custom': 'one, two',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'shop.example',
    'x-forwarded-port': '80',
    via: '1.1 dualgate',
    'x-login-id': 'user-7',
    'x-login-type': 'CONSUMER',
  })
  t.equal(id, answer.headers['x-request-id'])
  t.equal(traceId, id)
})

t.test('the echo shows the rewritten path and the preserved host', async t => {
  const answer = await call(fixture.url, { path: `${C}?x`, token: TOKEN.consumer, headers: { host: 'shop.example' } })
  t.match(answer.json(), { url: '/v2/7?x', path: '/v2/7', query: 'x', headers: { host: 'shop.example' } })
})

t.test('the echo shows a body, and counts what it does not show', async t => {
  const small = await call(fixture.url, { method: 'POST', path: C, token: TOKEN.consumer, body: { name: '你好' } })
  t.match(small.json(), {
    method: 'POST',
    body: '{"name":"你好"}',
    body_bytes: 17,
    headers: { 'content-type': 'application/json' },
  })

  const request = httpRequest(fixture.url + C, { method: 'PUT', headers: { authorization: TOKEN.consumer } })
  const chunk = Buffer.alloc(1_000_000, 'x')
  for (let i = 0; i < 20; i++) if (!request.write(chunk)) await once(request, 'drain')
  request.end()
  const [response] = await once(request, 'response')
  let text = ''
  for await (const part of response) text += part
  const { body, body_bytes } = JSON.parse(text)
  t.equal(body_bytes, 20_000_000)
  t.equal(body, 'x'.repeat(65_536))
})

t.test('the echo answers HEAD and OPTIONS, and a header by any name', async t => {
  t.match(await call(fixture.url, { method: 'HEAD', path: C, token: TOKEN.consumer }), { status: 200, text: '' })
  t.match((await call(fixture.url, { method: 'OPTIONS', path: C })).json(), { method: 'OPTIONS' })
  const text = await callRaw(
    fixture.url,
    `GET ${C} HTTP/1.1\r\nHost: h\r\nAuthorization: ${TOKEN.consumer}\r\n__proto__: x\r\nconstructor: y\r\nConnection: close\r\n\r\n`,
  )
  t.match(text, /"__proto__":"x"/)
  t.match(text, /"constructor":"y"/)
})

t.test('a client that leaves while it sends the echo a body is no fault', async t => {
  const before = fixture.log.length
  const socket = connect(fixture.port, '127.0.0.1')
  const length = 100_000
  const head = `PUT ${C} HTTP/1.1\r\nHost: h\r\nAuthorization: ${TOKEN.consumer}\r\nContent-Length: ${2 * length}\r\n\r\n`
  socket.write(head + 'x'.repeat(length))
  const [{ socket: accepted }] = await once(fixture.app.server, 'request')
  t.ok(await until(() => accepted.bytesRead > length))
  socket.resetAndDestroy()
  t.ok(await until(() => accepted.closed))
  // The answer to another client comes behind what the first one has left.
  await call(fixture.url, { path: C, token: TOKEN.consumer })
  t.same(fixture.log.slice(before), [])
})
