import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import { createCertificate } from '../support/certificate.ts'
import { call } from '../support/client.ts'
import { openForwardFixture, TOKEN, type WrittenUpstream } from '../support/forward-fixture.ts'

/* A backend refuses a body of which it has read the beginning, and closes the connection: the rest cannot be written. */

const folder = mkdtempSync(join(tmpdir(), 'dualgate-early-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

const REFUSAL = 'HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo large'
const BODY = Buffer.alloc(20_000_000)
/** Some of these meet the closed connection by a write, others by a read. */
const TIMES = 8

const certificate = createCertificate(folder)
const key = readFileSync(join(folder, 'key.pem'))

type Place = 'tcp' | 'tls' | 'unix'

/** A backend that sends this to everyone who sends something, and closes the connection. */
async function before(t: Test, place: Place, text: string, close: 'destroy' | 'end' | 'resetAndDestroy' = 'destroy') {
  const sockets = new Set<Socket>()
  const refuse = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    socket.once('data', () => {
      socket.pause()
      if (text === '') socket[close]()
      else socket.end(text, () => socket.destroy())
    })
  }
  const server =
    place === 'tls' ? createTlsServer({ cert: readFileSync(certificate), key }, refuse) : createServer(refuse)
  const path = join(folder, `${place}.sock`)
  if (place === 'unix') server.listen(path)
  else server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const target = { tcp: `http://127.0.0.1:${port}`, tls: `https://127.0.0.1:${port}`, unix: `unix:${path}` }[place]
  const upstream: WrittenUpstream = { target, ...(place === 'tls' && { tls: { ca: certificate } }) }
  const fixture = await openForwardFixture({ upstreams: [upstream] })
  t.teardown(async () => {
    await fixture.close()
    for (const socket of sockets) socket.destroy()
    await new Promise(resolve => server.close(resolve))
  })
  return fixture
}

const upload = (url: string) =>
  call(url, { method: 'PUT', path: '/api/v1/c/things', token: TOKEN.consumer, body: BODY })

for (const place of ['tcp', 'tls', 'unix'] as const)
  t.test(`clients get the refusal of a body that was not read, ${place}`, async t => {
    const { url, log } = await before(t, place, REFUSAL)
    for (let i = 0; i < TIMES; i++) t.match(await upload(url), { status: 413, text: 'too large' })
    t.same(
      log.filter(line => line.msg === 'target ejected'),
      [],
    )
  })

t.test('clients get 502 where a backend closes the connection without a response', async t => {
  const { url } = await before(t, 'tcp', '')
  for (let i = 0; i < TIMES; i++) t.equal((await upload(url)).status, 502)
})

for (const close of ['destroy', 'end', 'resetAndDestroy'] as const)
  t.test(`a client has no target ejected that closes the connection while the body is coming, by ${close}`, async t => {
    const { url, log } = await before(t, 'tcp', '', close)
    for (let i = 0; i < TIMES; i++) {
      const headers = { authorization: `Bearer ${TOKEN.consumer}`, 'content-length': BODY.length }
      const asked = request(`${url}/api/v1/c/things`, { method: 'PUT', headers, agent: false })
      asked.on('error', () => {})
      // Nothing more is written to the backend: the end of its connection is read.
      asked.write(BODY.subarray(0, 100_000))
      const [answer] = (await once(asked, 'response')) as [IncomingMessage]
      t.equal(answer.statusCode, 502)
      asked.destroy()
    }
    t.same(
      log.filter(line => line.msg === 'target ejected'),
      [],
    )
  })

t.test('what a closed connection cuts off does not look complete', async t => {
  const head = 'HTTP/1.1 413 Content Too Large\r\n'
  for (const framing of ['Content-Length: 10\r\n', 'Transfer-Encoding: chunked\r\n']) {
    const { url } = await before(t, 'tcp', `${head}${framing}Connection: close\r\n\r\n1\r\nt\r\n`)
    for (let i = 0; i < TIMES; i++) await t.rejects(upload(url))
  }
})
