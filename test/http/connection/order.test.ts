import { once } from 'node:events'
import t, { type Test } from 'tap'
import { callRaw, openRawClient } from '../../support/client.ts'
import { forwardTo, TOKEN } from '../../support/forward-fixture.ts'
import { until } from '../../support/until.ts'
import { startUpstream } from '../../support/upstream.ts'

/* The end of a connection on which something arrived that is no request, or that no other request may follow. */

const C = '/api/v1/c/things'
const HEAD = `Host: h\r\nAuthorization: ${TOKEN.consumer}\r\n`
const get = (query: string, headers = ''): string => `GET ${C}?${query} HTTP/1.1\r\n${HEAD}${headers}\r\n`

async function open(t: Test) {
  const upstream = await startUpstream({ answer: (request, response) => response.end(request.url!.split('?')[1]) })
  t.teardown(() => upstream.close())
  const fixture = await forwardTo(t, upstream.url)
  return { ...fixture, upstream, asked: () => upstream.requests.map(({ url }) => url.split('?')[1]) }
}

/** A client that goes on sending; answers what it heard, and the fault that its connection ended with. */
async function sendOnAndOn(t: Test, port: number, first: string): Promise<{ heard: string; fault: Error | null }> {
  const { socket, heard } = openRawClient(t, port, { allowHalfOpen: true })
  let fault: Error | null = null
  socket.on('error', error => {
    fault = error
  })
  socket.write(first)
  const timer = setInterval(() => socket.write('x'.repeat(1000)), 10)
  t.teardown(() => clearInterval(timer))
  await Promise.race([once(socket, 'end'), once(socket, 'close')])
  return { heard: heard(), fault }
}

const statusesOf = (heard: string): string[] => heard.match(/HTTP\/1\.1 \d{3}/g)?.map(line => line.slice(9)) ?? []

t.test('valid requests are answered before the malformed rest of their packet is refused', async t => {
  const { url, asked } = await open(t)
  for (const bad of [
    `POST ${C}?bad HTTP/1.1\r\n${HEAD}Transfer-Encoding: blegh\r\n\r\nx`,
    `POST ${C}?bad HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\nx`,
    `POST ${C}?bad HTTP/1.1\r\n${HEAD}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'nonsense\r\n\r\n',
  ]) {
    const heard = await callRaw(url, get('good') + get('better') + bad + get('never'))
    t.same(statusesOf(heard), ['200', '200', '400'], bad)
    t.match(heard, /good.*better.*"code":400/s)
  }
  t.notMatch(asked().join(), 'never')
  t.notMatch(asked().join(), 'bad')
})

t.test('nothing that follows a misframed request is served', async t => {
  const { url, asked } = await open(t)
  for (const coding of ['gzip, chunked', 'gzip', 'identity']) {
    const heard = await callRaw(
      url,
      `POST ${C}?bad HTTP/1.1\r\n${HEAD}Transfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n${get('never')}`,
    )
    t.same(statusesOf(heard), ['501'], coding)
  }
  const old = await callRaw(
    url,
    `POST ${C}?bad HTTP/1.0\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${get('never')}`,
  )
  t.same(statusesOf(old), ['400'])
  t.same(asked(), [])
})

t.test('a request with an unsupported Upgrade is answered, and nothing after it is served', async t => {
  const { port, asked } = await open(t)
  const { socket, heard } = openRawClient(t, port)
  const closed = once(socket, 'close')
  socket.write(`${get('first', 'Connection: Upgrade\r\nUpgrade: h2c\r\n')}GET /api/v1/c/lost HTTP/1.1\r\nX-Value: `)
  t.ok(await until(() => heard().includes('first')))
  socket.write(`${get('hidden')}\r\n\r\n`)
  await closed
  t.same(statusesOf(heard()), ['200'])
  t.match(heard(), /connection: close/i)
  t.same(asked(), ['first'])
})

t.test('CONNECT is answered with the methods that there are, behind the answers to earlier requests', async t => {
  const { url } = await open(t)
  const heard = await callRaw(url, `${get('first')}CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n`)
  t.same(statusesOf(heard), ['200', '405'])
  t.match(heard, /allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS.*"code":405/s)
})

t.test('a client that continues to send can read the reason of its refusal', async t => {
  const { port } = await open(t)
  for (const [first, status] of [
    [`POST ${C} HTTP/1.1\r\n${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n`, '501'],
    [`POST ${C} HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, '400'],
    [`POST ${C} HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n`, '200'],
    ['CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n', '405'],
    ['nonsense\r\n\r\n', '400'],
  ] as const) {
    const { heard, fault } = await sendOnAndOn(t, port, first)
    t.same(statusesOf(heard), [status], first)
    t.match(heard, /connection: close.*"success":false.*\}$/is)
    t.equal(fault, null, 'its connection is not reset')
  }
})
