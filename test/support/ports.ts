import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Server } from 'node:net'

/**
 * A free port outside the range that the system gives to connections: one of these could use it before its server does. No
 * other process of the tests gets it as long as this one lives.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000)
    if (!(await reserve(port))) continue
    const server = createServer().listen(port, '127.0.0.1')
    const inUse = once(server, 'listening').then(
      () => false,
      () => true,
    )
    if (await inUse) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

/** Has a server listen at such a port, which it answers: when the server has ended, nothing of the tests is there. */
export async function listenAlone(server: Server): Promise<number> {
  const port = await freePort()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return port
}

/**
 * For a gateway whose workers all end, in its environment. A port that the system had chosen would be free until their successors
 * listen, and go to a connection or a server of another test.
 */
export const ownPorts = async () => ({
  LISTEN__PORT: String(await freePort()),
  INTERNAL__PORT: String(await freePort()),
})

/** Reserves a port by a socket without a file, which ends with the process. Other systems than Linux have none. */
async function reserve(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return true
  const reservation = createServer().listen(`\0dualgate-test-port-${port}`)
  reservation.unref()
  return once(reservation, 'listening').then(
    () => true,
    () => false,
  )
}

/** Whether a process accepts connections at a port of this machine. */
export function isListening(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
