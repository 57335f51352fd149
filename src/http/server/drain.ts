import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { connectionOf } from './connection/connection.ts'

/** How often idle connections are checked, in milliseconds. */
const SWEEP_INTERVAL = 100

/**
 * Lets a server end without failing a request. It stops accepting at once; every answer that begins from then on says
 * `Connection: close`; connections that stayed idle for `grace` milliseconds are closed, and with them those that never requested
 * anything. After `limit` milliseconds requests in progress are cut off; WebSockets are not. Resolves when no connection is
 * left, and returns whether every request had finished. With `null` none is cut off.
 */
export type Drain = (grace: number, limit: number | null) => Promise<boolean>

/** Prepares a server for its end, before it listens. */
export function createDrain(server: Server): Drain {
  const sockets = new Set<Socket>()
  const isTls = 'setSecureContext' in server
  server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })

  return async (grace, limit) => {
    if (!server.listening) return true
    for (const event of ['request', 'checkContinue'] as const) {
      server.prependListener(event, (_request, response) => {
        response.shouldKeepAlive = false
      })
    }
    for (const socket of sockets) connectionOf(socket)?.announceEnd()
    // What has arrived is read before: while the machine held the process up, a client may have sent its next request in time.
    const sweep = () => setImmediate(() => endIdle(server, sockets))
    let sweeper: NodeJS.Timeout | undefined
    const patience = setTimeout(() => {
      sweep()
      sweeper = setInterval(sweep, SWEEP_INTERVAL)
    }, grace)
    let inTime = true
    const cut =
      limit === null
        ? undefined
        : setTimeout(() => {
            endIdle(server, sockets)
            const inProgress = [...sockets].filter(({ destroyed }) => !destroyed)
            server.closeAllConnections()
            inTime = !inProgress.some(({ destroyed }) => destroyed)
          }, limit)
    await lastClosed(server, sockets)
    clearTimeout(patience)
    clearInterval(sweeper)
    clearTimeout(cut)
    return inTime
  }
}

/** Stops accepting. Resolves when the last connection is closed. */
async function lastClosed(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  // The `close` of an HTTP server would cut idle connections off at once, and with them the requests on their way.
  await new Promise(closed => NetServer.prototype.close.call(server, closed))
  // The server does not count one that is cut off any more before its `close`, with which its request ends.
  await Promise.all(Array.from(sockets, socket => new Promise(closed => socket.once('close', closed))))
}

function endIdle(server: Server, sockets: ReadonlySet<Socket>): void {
  // To the server one counts as idle as soon as its answer is written, although its client still reads. Idle ones can wait for it.
  if (![...sockets].some(socket => connectionOf(socket)?.isDelivering)) server.closeIdleConnections()
  // To the server one that has not sent a byte counts as busy with its first request, and one as busy whose request is
  // answered, while the rest of a body arrives that nothing reads.
  for (const socket of sockets) {
    if (socket.bytesRead === 0 || connectionOf(socket)?.isOnlyDiscarding) socket.destroy()
  }
}
