import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from '../support/ports.ts'

/** A way to a server that a test can hold up or cut. */
export interface Proxy {
  port: number
  /** Bytes wait on both sides; no connection is closed. */
  pause(): void
  resume(): void
  /** Every connection is reset, new ones are refused. */
  cut(): Promise<void>
  /** Lets so many more bytes of answers through on each connection, then resets it. */
  tear(bytes: number): void
  /** Takes connections again, on the same port. */
  open(): Promise<void>
}

/** Node does not close a socket that is reset while it ends: the process could not exit. */
const reset = (socket: Socket): unknown => (socket.writableEnded ? socket.destroy() : socket.resetAndDestroy())

export async function startProxy(targetPort: number, targetHost = '127.0.0.1'): Promise<Proxy> {
  const sockets = new Set<Socket>()
  const tears = new Map<Socket, (bytes: number) => void>()
  let paused = false
  let server: Server | null = null

  const serve = (socket: Socket): void => {
    const upstream = connect(targetPort, targetHost)
    /** Bytes of answers until the connection is torn; `null` when it is not to be. */
    let left: number | null = null
    tears.set(socket, bytes => {
      left = bytes
    })
    socket.on('close', () => tears.delete(socket))
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(from)
      from.on('data', chunk => {
        if (from === socket || left === null) return to.write(chunk)
        to.write(chunk.subarray(0, left))
        left -= chunk.length
        if (left <= 0) reset(socket)
      })
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      if (paused) from.pause()
    }
  }
  const listen = async (port: number): Promise<void> => {
    server = createServer(serve).listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const port = await freePort()
  await listen(port)

  return {
    port,
    pause() {
      paused = true
      for (const socket of sockets) socket.pause()
    },
    resume() {
      paused = false
      for (const socket of sockets) socket.resume()
    },
    async cut() {
      const closing = server
      server = null
      for (const socket of sockets) reset(socket)
      if (closing === null) return
      closing.close()
      await once(closing, 'close')
    },
    tear(bytes) {
      for (const tear of tears.values()) tear(bytes)
    },
    async open() {
      if (server === null) await listen(port)
    },
  }
}
