import { type AddressInfo, createServer, type Socket } from 'node:net'
import { HttpReader, headerOf, type Message } from './http-reader.ts'

/** A backend that reads bytes strictly, remembers them, and answers with the `X-Case` of what it was asked. */
export interface WireUpstream {
  url: string
  /** What arrived, oldest first. */
  arrived: Message[]
  /** What arrived and could be read in two ways. */
  unreadable: string[]
  close(): Promise<void>
}

export async function startWireUpstream(): Promise<WireUpstream> {
  const sockets = new Set<Socket>()
  const upstream: Pick<WireUpstream, 'arrived' | 'unreadable'> = { arrived: [], unreadable: [] }
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    const reader = new HttpReader('requests')
    socket.on('data', chunk => {
      try {
        for (const message of reader.read(chunk)) {
          upstream.arrived.push(message)
          socket.write(answerTo(message))
        }
      } catch (fault) {
        upstream.unreadable.push((fault as Error).message)
        socket.destroy()
      }
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    ...upstream,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

function answerTo(message: Message): string {
  const about = headerOf(message, 'x-case') ?? 'none'
  const body = message.line.startsWith('HEAD ') ? '' : 'ok'
  return `HTTP/1.1 200 OK\r\nX-Case: ${about}\r\nContent-Length: 2\r\n\r\n${body}`
}
