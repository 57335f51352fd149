import type { Socket } from 'node:net'

/**
 * What `look` finds on a connection; `otherwise` if it closes before, or is silent for `limit` milliseconds. The connection is
 * closed after that.
 */
export async function foundOn<T>(
  socket: Socket,
  limit: number,
  otherwise: T,
  look: (found: (answer: T) => void) => void,
): Promise<T> {
  socket.setTimeout(limit)
  try {
    return await new Promise<T>(resolve => {
      // First: what it looks for may be in the error.
      look(resolve)
      for (const event of ['error', 'close', 'timeout']) socket.once(event, () => resolve(otherwise))
    })
  } finally {
    socket.on('error', () => undefined)
    socket.destroy()
  }
}
