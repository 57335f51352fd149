import { createHash } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import { ANSWER } from './upstream-answer.ts'

/*
 * The upstream in Node. It reads every body completely before it answers. `/size/<KiB>` at the end of a path is answered
 * with a body of that size, `/stream/<MiB>` with one that is generated while it is sent. WebSockets are opened and stay idle.
 */
const CHUNK = Buffer.alloc(65_536, 'x')
const CHUNKS_PER_MIB = 16
const bodies = new Map<string, Buffer>()

function bodyOf(url: string): Buffer | string {
  const kib = /\/size\/(\d+)$/.exec(url)?.[1]
  if (kib === undefined) return ANSWER
  const body = bodies.get(kib) ?? Buffer.alloc(Number(kib) * 1024, 'x')
  bodies.set(kib, body)
  return body
}

function stream(response: ServerResponse, mib: number): void {
  let left = mib * CHUNKS_PER_MIB
  const go = (): void => {
    while (left-- > 0) if (!response.write(CHUNK)) return void response.once('drain', go)
    response.end()
  }
  go()
}

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    const mib = /\/stream\/(\d+)$/.exec(request.url ?? '')?.[1]
    if (mib !== undefined) return stream(response, Number(mib))
    const body = bodyOf(request.url ?? '')
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body)
  })
})
server.on('upgrade', (request, socket) => {
  // RFC 6455 4.2.2.
  const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
  const accept = createHash('sha1').update(key).digest('base64')
  socket.on('error', () => undefined).on('end', () => socket.end())
  socket
    .resume()
    .write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
})
server.keepAliveTimeout = 120_000
server.listen({ host: '127.0.0.1', port: Number(process.argv[2]), backlog: 8192 })
process.once('SIGTERM', () => process.exit(0))
