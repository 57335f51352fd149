import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer as createPlain } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import t from 'tap'
import { openFixture } from '../support/gateway-fixture.ts'
import { temporaryFolder } from '../support/image.ts'
import { until } from '../support/until.ts'
import { closingOf, openEnd, startSocketUpstream } from '../support/websocket-sockets.ts'

/* WebSockets over TLS, on either side, and over a Unix socket. */

function certificateIn(folder: string): { cert: string; key: string } {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, ...names], { stdio: 'ignore' })
  return { cert, key }
}

t.test('a WebSocket passes from TLS to TLS, and ends with its session', async t => {
  const { cert, key } = certificateIn(t.testdir())
  const plain = await startSocketUpstream(t)
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) })
  // The upgrades of the one that speaks TLS are answered by the other.
  server.on('upgrade', (...words) => plain.server.emit('upgrade', ...words))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close().closeAllConnections())
  const { port } = server.address() as { port: number }
  const target = { target: `https://127.0.0.1:${port}`, tls: { ca: cert }, websocket: {} }
  const fixture = await openFixture(t, {
    config: { listen: { host: '127.0.0.1', port: 0, tls: { cert, key } } },
    upstreams: [{ name: 'live', match: '/api/v1/c/live', ...target }],
  })
  const { token } = (await fixture.operate('consumer', 'login', { user_id: 'u1' })).data
  const end = await openEnd(t, fixture.url, { token })
  const [behind] = plain.ends
  const message = 'x'.repeat(500_000)
  end.send(message)
  t.ok(await until(() => end.messages[0]?.text === `echo: ${message}`))
  t.equal(plain.handshakes[0]!.headers['x-forwarded-proto'], 'https')
  await fixture.operate('consumer', 'kickout', { user_id: 'u1' })
  t.same(await closingOf(end), { code: 4401, reason: 'session ended' })
  t.match(await closingOf(behind!), { code: 4401 })
})

t.test('a WebSocket passes to a Unix socket', async t => {
  const upstream = await startSocketUpstream(t)
  // The path of a socket has 107 bytes at most.
  const path = join(temporaryFolder(t, 'live'), 'live.sock')
  const server = createPlain().on('upgrade', (...words) => upstream.server.emit('upgrade', ...words))
  await new Promise<void>(resolve => server.listen(path, resolve))
  t.teardown(() => server.close().closeAllConnections())
  const fixture = await openFixture(t, {
    upstreams: [{ name: 'live', match: '/api/v1/c/live', target: `unix:${path}`, websocket: {} }],
  })
  const { token } = (await fixture.operate('consumer', 'login', { user_id: 'u1' })).data
  const end = await openEnd(t, fixture.url, { token })
  end.send('hello')
  t.ok(await until(() => end.messages[0]?.text === 'echo: hello'))
})
