import type { Socket } from 'node:net'

/** How long a client may go on sending after its last answer, in milliseconds, and how many bytes are thrown away. */
const LINGER = 5_000
const MAX_DISCARDED = 16 * 1024 * 1024

/**
 * Ends a connection on which more may arrive. Closed at once it would be reset, and a reset can overtake the last answer
 * (RFC 9112 9.6): so the sending half is closed first, and what still arrives is read and thrown away, within bounds.
 */
export function closeWithLinger(socket: Socket): void {
  if (socket.destroyed) return
  // From here on the bytes are not for the parser of HTTP.
  socket.removeAllListeners('data')
  let left = MAX_DISCARDED
  socket.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) socket.destroy()
  })
  const timer = setTimeout(() => socket.destroy(), LINGER)
  socket.once('close', () => clearTimeout(timer))
  socket.end()
  socket.resume()
}
