import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo, Socket } from 'node:net'
import type { Test } from 'tap'
import { until } from './until.ts'

/** An implementation of the protocol that is not ours; it has no types. */
const { WebSocket, WebSocketServer } = createRequire(import.meta.url)('ws')

export interface Message {
  text: string
  isBinary: boolean
}

/** One end of a WebSocket, and what it has heard. */
export interface End {
  messages: Message[]
  pings: string[]
  pongs: string[]
  /** `null` while it is open; the code is 1006 when no close frame came. */
  closed: { code: number; reason: string } | null
  protocol: string
  send(text: string | Buffer): void
  ping(text: string): void
  close(code?: number, reason?: string): void
  /** The connection below it. */
  socket: Socket
}

function endOf(ws: any): End {
  const end: End = {
    messages: [],
    pings: [],
    pongs: [],
    closed: null,
    protocol: ws.protocol,
    send: text => ws.send(text),
    ping: text => ws.ping(text),
    close: (code, reason) => ws.close(code, reason),
    get socket() {
      return ws._socket
    },
  }
  ws.on('message', (data: Buffer, isBinary: boolean) => end.messages.push({ text: data.toString(), isBinary }))
  ws.on('ping', (data: Buffer) => end.pings.push(data.toString()))
  ws.on('pong', (data: Buffer) => end.pongs.push(data.toString()))
  ws.on('close', (code: number, reason: Buffer) => {
    end.closed = { code, reason: reason.toString() }
  })
  ws.on('error', () => {})
  return end
}

/** A backend with WebSockets: what arrives is answered with `echo: ` before it, unless the test says otherwise. */
export interface SocketUpstream {
  url: string
  port: number
  server: Server
  /** The handshakes that arrived, refused or not. */
  handshakes: IncomingMessage[]
  /** The ends that were opened, oldest first. */
  ends: End[]
  /** Answers a handshake by itself when it answers true. */
  refuse: ((request: IncomingMessage, socket: Socket) => boolean) | null
  echoes: boolean
}

export async function startSocketUpstream(t: Test, options: Record<string, unknown> = {}): Promise<SocketUpstream> {
  const wss = new WebSocketServer({ noServer: true, ...options })
  const server = createServer((_request, response) => void response.end('plain'))
  const connections = new Set<Socket>()
  server.on('connection', socket => {
    connections.add(socket)
    socket.on('close', () => connections.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const upstream: SocketUpstream = {
    url: `http://127.0.0.1:${port}`,
    port,
    server,
    handshakes: [],
    ends: [],
    refuse: null,
    echoes: true,
  }
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => {})
    upstream.handshakes.push(request)
    if (upstream.refuse?.(request, socket)) return
    wss.handleUpgrade(request, socket, head, (ws: any) => {
      const end = endOf(ws)
      upstream.ends.push(end)
      ws.on('message', (data: Buffer, isBinary: boolean) => {
        if (upstream.echoes) ws.send(isBinary ? data : `echo: ${data}`)
      })
    })
  })
  t.teardown(() => {
    for (const socket of connections) socket.destroy()
    server.close()
  })
  return upstream
}

export interface Opening {
  path?: string
  token?: string
  headers?: Record<string, string>
  protocols?: string[]
}

/** What became of a handshake: an open end, or the answer that refused it. */
export type Opened =
  | { end: End; refused: null }
  | { end: null; refused: { status: number; body: string; headers: IncomingMessage['headers'] } }

/** Opens a WebSocket as a client does. */
export function open(t: Test, base: string, opening: Opening = {}): Promise<Opened> {
  const { path = '/api/v1/c/live', token, headers = {}, protocols = [] } = opening
  const sent = token === undefined ? headers : { authorization: `Bearer ${token}`, ...headers }
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(base.replace('http', 'ws') + path, protocols, { headers: sent, rejectUnauthorized: false })
    t.teardown(() => ws.terminate())
    ws.once('open', () => resolve({ end: endOf(ws), refused: null }))
    ws.once('unexpected-response', (_request: unknown, response: IncomingMessage) => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.once('close', () => {
        const { statusCode = 0, headers } = response
        resolve({ end: null, refused: { status: statusCode, body: Buffer.concat(chunks).toString(), headers } })
      })
    })
    ws.once('error', reject)
  })
}

/** The same, where it has to come about. */
export async function openEnd(t: Test, base: string, opening: Opening = {}): Promise<End> {
  const { end, refused } = await open(t, base, opening)
  if (end === null) throw new Error(`refused with ${refused.status}: ${refused.body}`)
  return end
}

/** The same, where it must not: the status. */
export async function refusalOf(t: Test, base: string, opening: Opening = {}): Promise<number> {
  return (await open(t, base, opening)).refused?.status ?? 101
}

/** Resolves with how an end was closed, `null` when it is still open after a while. */
export async function closingOf(end: End): Promise<End['closed']> {
  await until(() => end.closed !== null)
  return end.closed
}
