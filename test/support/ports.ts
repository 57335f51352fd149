import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** A free port outside the range that the system gives to connections: one of these could use it before its server does. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000)
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
