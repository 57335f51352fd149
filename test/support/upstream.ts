import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { listenAlone } from './ports.ts'

/** One request as it reached a backend. */
export interface Arrived {
  method: string
  url: string
  httpVersion: string
  headers: IncomingHttpHeaders
  rawHeaders: string[]
  trailers: NodeJS.Dict<string>
  /** What has arrived of the body: all of it when `complete`. */
  body: string
  complete: boolean
}

export type Handler = (request: IncomingMessage, response: ServerResponse, arrived: Arrived) => void

/** A backend that records what arrives, and answers as the test wants. */
export interface Recorder {
  url: string
  port: number
  /** Everything that arrived, oldest first. */
  requests: Arrived[]
  /** Answers when a request has arrived whole; at first with 200 and a small JSON object. */
  answer: Handler
  /** Takes a request over as soon as its head has arrived, its body unread; `null` for none. */
  take: Handler | null
  /** Requests that were neither answered nor given up. */
  readonly open: number
  /** Connections, busy or idle. */
  connections(): Promise<number>
  /** Breaks off all connections; new ones are accepted. */
  closeConnections(): void
  close(): Promise<void>
}

const answerOk: Handler = (_request, response) => {
  response.setHeader('content-type', 'application/json')
  response.end('{"ok":true}')
}

export async function startUpstream(options: { answer?: Handler; take?: Handler } = {}): Promise<Recorder> {
  let open = 0
  const server = createServer({ keepAliveTimeout: 30_000 }, (request, response) => {
    const { method = '', url = '', httpVersion, headers, rawHeaders, trailers } = request
    const arrived = { method, url, httpVersion, headers, rawHeaders, trailers, body: '', complete: false }
    recorder.requests.push(arrived)
    open++
    response.on('close', () => open--)
    // A client that leaves is part of many tests.
    request.on('error', () => {})
    if (recorder.take !== null) return recorder.take(request, response, arrived)
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      arrived.body = Buffer.concat(chunks).toString()
      arrived.trailers = request.trailers
      arrived.complete = true
      recorder.answer(request, response, arrived)
    })
  })
  const port = await listenAlone(server)
  const recorder: Recorder = {
    url: `http://127.0.0.1:${port}`,
    port,
    requests: [],
    answer: options.answer ?? answerOk,
    take: options.take ?? null,
    get open() {
      return open
    },
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    closeConnections: () => server.closeAllConnections(),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return recorder
}

/** A backend of bare TCP, for answers that no HTTP server gives. */
export interface RawUpstream {
  url: string
  port: number
  /** Connections that are open. */
  sockets: Set<Socket>
  /** What arrived on each connection that ever was, as latin1. */
  heard: string[]
  close(): Promise<void>
}

/** `speak` is called once per request head that arrives on a connection. */
export async function startRawUpstream(speak: (socket: Socket, request: string) => void): Promise<RawUpstream> {
  const sockets = new Set<Socket>()
  const heard: string[] = []
  const server = createTcpServer(socket => {
    const index = heard.push('') - 1
    let answered = 0
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.on('data', chunk => {
      heard[index] += chunk.toString('latin1')
      const heads = heard[index]!.split('\r\n\r\n')
      while (answered < heads.length - 1) speak(socket, heads[answered++]!)
    })
  })
  const port = await listenAlone(server)
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    sockets,
    heard,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
