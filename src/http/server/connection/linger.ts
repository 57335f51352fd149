import type { Socket } from 'node:net'
import { Deadline } from '../../../base/deadline.ts'

/** How long a client may continue to send after its last answer, in milliseconds, and how many bytes are discarded. */
const LINGER = 5_000
const MAX_DISCARDED = 16 * 1024 * 1024

/**
 * Closes a connection on which more data may arrive. An immediate close causes a reset, which can overtake the last
 * answer (RFC 9112 9.6). So the sending half is closed first, and further data is read and discarded, within limits.
 */
export function closeWithLinger(socket: Socket): void {
  if (socket.destroyed) return
  // From here on the HTTP parser does not get the bytes.
  socket.removeAllListeners('data')
  // What has arrived during a stall of this process is read before.
  const limit = new Deadline(LINGER, () => socket.destroy())
  socket.once('close', () => limit.clear())
  socket.end()
  socket.resume()
  // Where the parser has paused the socket, because the body is not read, reading resumes in the next tick: never, if the socket gets
  // another listener before.
  process.nextTick(discard, socket)
}

function discard(socket: Socket): void {
  let left = MAX_DISCARDED
  socket.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) socket.destroy()
  })
}
