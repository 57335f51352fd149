import { once } from 'node:events'
import { chmodSync, lstatSync, rmSync } from 'node:fs'
import { connect, type Server } from 'node:net'

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
  // Workers share a socket. Where its path was removed meanwhile no client reaches it, and the public listener serves on.
  if (isSocket(path)) chmodSync(path, 0o600)
}

/** Removes the socket of a process that has ended. What else is at this path stays, and then `listen` fails with EADDRINUSE. */
export async function removeDeadSocket(path: string): Promise<void> {
  if (isSocket(path) && !(await isAnswered(path))) rmSync(path, { force: true })
}

export const isSocket = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSocket() ?? false

/** Whether a process listens on a Unix socket. What cannot be found out, as without access to the socket, counts as one that does. */
export async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException
    return code !== 'ENOENT' && code !== 'ECONNREFUSED'
  } finally {
    socket.destroy()
  }
}
