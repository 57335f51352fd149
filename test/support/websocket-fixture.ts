import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { type Fixture, openFixture, type StoreKind, someone } from './gateway-fixture.ts'
import { until } from './until.ts'
import { type End, openEnd, type SocketUpstream, startSocketUpstream } from './websocket-sockets.ts'

export interface WebSocketFixture {
  fixture: Fixture
  upstream: SocketUpstream
  /** A session of the C side. */
  login(userId?: string): Promise<string>
}

export interface WebSocketFixtureOptions {
  store?: StoreKind
  websocket?: Record<string, unknown>
  more?: Record<string, unknown>
  config?: Record<string, unknown>
  upstream?: Record<string, unknown>
}

export async function openWebSocketFixture(t: Test, options: WebSocketFixtureOptions = {}): Promise<WebSocketFixture> {
  const upstream = await startSocketUpstream(t, options.upstream)
  // Each its own: what is written twice would be written as an alias.
  const live = () => structuredClone({ target: upstream.url, websocket: options.websocket ?? {}, ...options.more })
  const fixture = await openFixture(t, {
    store: options.store ?? 'embedded',
    upstreams: [
      { name: 'live', match: '/api/v1/c/live', ...live() },
      { name: 'public', match: '/api/v1/public/c/live', ...live() },
      { name: 'guarded', match: '/api/v1/c/guarded', ...live(), permission: 'live:watch' },
      { name: 'echo', match: '/api/v1/c/echo', target: 'builtin:echo' },
    ],
    ...(options.config !== undefined && { config: options.config }),
  })
  const login = async (userId = someone()): Promise<string> =>
    (await fixture.operate('consumer', 'login', { user_id: userId })).data.token
  return { fixture, upstream, login }
}

/** Whether it comes to hear this. */
export const heard = (end: End, text: string) => until(() => end.messages.some(message => message.text === text))

/** A connection of bare bytes, and what came back on it. */
export async function rawCall(t: Test, fixture: Fixture, bytes: string) {
  const { hostname, port } = new URL(fixture.url)
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  let text = ''
  let isClosed = false
  socket.on('data', chunk => {
    text += chunk.toString('latin1')
  })
  socket.on('close', () => {
    isClosed = true
  })
  socket.write(bytes)
  return { socket, text: () => text, isClosed: () => isClosed }
}

/** Accepts a handshake by hand, for what no implementation sends; `first` goes with it in one packet. */
export function accept({ headers }: IncomingMessage, socket: Socket, first = Buffer.alloc(0)): true {
  const key = `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
  const lines = [
    'HTTP/1.1 101 Yes',
    'Connection: Upgrade',
    'Upgrade: websocket',
    `Sec-WebSocket-Accept: ${createHash('sha1').update(key).digest('base64')}`,
  ]
  socket.write(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), first]))
  return true
}

/** The connections behind the gateway, as bytes. */
export function acceptByHand(upstream: SocketUpstream): Socket[] {
  const behind: Socket[] = []
  upstream.refuse = (request, socket) => {
    behind.push(socket)
    return accept(request, socket)
  }
  return behind
}

/** A WebSocket of the user u1: its client has half of a frame of 100 bytes that its upstream writes. */
export async function openWithinFrame(t: Test): Promise<{ fixture: Fixture; end: End; socket: Socket }> {
  const { fixture, upstream, login } = await openWebSocketFixture(t)
  const behind = acceptByHand(upstream)
  const end = await openEnd(t, fixture.url, { token: await login('u1') })
  const socket = behind[0]!
  const before = end.socket.bytesRead
  socket.write(Buffer.concat([Buffer.from([0x81, 100]), Buffer.alloc(50, 'x')]))
  t.ok(await until(() => end.socket.bytesRead >= before + 52))
  return { fixture, end, socket }
}

/** A handshake as bytes. */
export const RAW_HANDSHAKE = (token: string) =>
  `GET /api/v1/c/live HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
  `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: ${token}\r\n\r\n`
