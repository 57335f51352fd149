import { request } from 'node:http'
import { request as requestSecurely } from 'node:https'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { startFixture } from '../../support/gateway-fixture.ts'
import { temporaryFolder } from '../../support/image.ts'
import { until } from '../../support/until.ts'
import { openEnd, type SocketUpstream, startSocketUpstream } from '../../support/websocket-sockets.ts'
import { FORWARD_AUTH, WEB_APPLICATION } from './proxies.ts'

/*
 * Proxies that ask /verify, with the examples of config/examples, before a backend that accepts every protocol. A request that
 * becomes a WebSocket carries no others. One that becomes HTTP/2 carries as many as its client likes, which the gate has not
 * judged: with any path, and with any identity.
 */

/** Protocols that a client asks for, as the lines of its header. */
const UPGRADES: readonly string[][] = [['h2c'], ['H2C'], ['h2c, websocket'], ['h2c', 'websocket'], ['websocket', 'h2c']]

/** A backend that agrees to the first protocol that a client asks for; to HTTP/2 with its settings, as RFC 7540 wants it. */
async function startObliging(t: Test): Promise<SocketUpstream> {
  const backend = await startSocketUpstream(t)
  backend.refuse = ({ headers: { upgrade = '', 'http2-settings': settings } }, socket) => {
    if (/^websocket/i.test(upgrade) || settings === undefined) return false
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\n\r\n`)
    return true
  }
  return backend
}

/** What an upgrade leads to: a status, 101 if the connection speaks another protocol from here on. */
function upgrade(
  t: Test,
  url: string,
  upgrades: string[],
  headers: Record<string, string>,
): Promise<number | undefined> {
  const ask = url.startsWith('https:') ? requestSecurely : request
  return new Promise((resolve, reject) => {
    const asked = ask(url, { headers, rejectUnauthorized: false, agent: false })
    // Without the name of the other header: some proxies pass on what it does not name.
    asked.setHeader('connection', 'Upgrade')
    asked.setHeader('upgrade', upgrades)
    asked.setHeader('http2-settings', 'AAMAAABkAAQAAP__')
    asked.on('response', response => resolve(response.resume().statusCode))
    asked.on('upgrade', (_answer, socket: Socket) => {
      t.teardown(() => socket.destroy())
      resolve(101)
    })
    asked.on('error', reject)
    asked.end()
  })
}

interface Way {
  url: string
  path: string
  token: string
}

function expectWebSocketsOnly(t: Test, { url, path, token }: Way): void {
  t.test('opens WebSockets', async t => {
    const end = await openEnd(t, url, { path, token })
    end.send('hello')
    await until(() => end.messages.length > 0)
    t.equal(end.messages[0]?.text, 'echo: hello')
    end.close()
  })

  t.test('lets no connection become HTTP/2', async t => {
    for (const upgrades of UPGRADES) {
      const status = await upgrade(t, `${url}${path}`, upgrades, { authorization: `Bearer ${token}` })
      t.not(status, 101, upgrades.join(' and '))
    }
  })
}

for (const { name, skip, start } of FORWARD_AUTH)
  t.test(`${name} that asks /verify`, { skip }, async t => {
    const backend = await startObliging(t)
    const fixture = await startFixture({ config: { trusted_proxies: ['127.0.0.1'] } })
    t.teardown(() => fixture.close())
    const pages = { folder: temporaryFolder(t, 'pages'), url: backend.url }
    const url = await start(t, { gateway: fixture.internal, backend: backend.url, pages })
    const { token } = (await fixture.operate('consumer', 'login', { user_id: '42' })).data
    expectWebSocketsOnly(t, { url, path: '/api/v1/c/live', token })
  })

for (const { name, skip, start } of WEB_APPLICATION)
  t.test(`${name} before a web application`, { skip }, async t => {
    const backend = await startObliging(t)
    const config = { browser: { business: 'on' }, gate: { pages: [{ path: '/wiki/*', needs: 'business' }] } }
    const fixture = await startFixture({ config: { trusted_proxies: ['127.0.0.1'], ...config } })
    t.teardown(() => fixture.close())
    const url = await start(t, { gateway: fixture.internal, backend: backend.url, signIn: fixture.url })
    const token = await fixture.gateway.sides.business.login(undefined, '7')
    expectWebSocketsOnly(t, { url, path: '/wiki/live', token })
  })
