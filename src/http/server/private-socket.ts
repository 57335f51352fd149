import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import type { Server } from 'node:net'

/**
 * Listens on a Unix socket to which only the user of this process can connect, from its creation on, with any umask.
 * `listen` makes the socket before it returns, so nothing else of this thread is made meanwhile.
 *
 * The socket of a worker is made by its primary, which has a umask of its own for that (`Primary.start`); what is left
 * here are the bits that a socket has no use for.
 */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  const listening = once(server, 'listening')
  const before = process.umask(0o177)
  try {
    server.listen(path)
  } finally {
    process.umask(before)
  }
  await listening
  chmodSync(path, 0o600)
}
