import type { Socket } from 'node:net'

/*
 * Seen in: Node 20.20.2 and 26.10.0. `socket.bytesWritten` counts a write as a whole when it is given to the system. What the system
 * has accepted of a large one is known below the socket only.
 * Upstream: no issue is known.
 * Without it: a client that reads a large answer slowly, and steadily, looks like one that does not read, and is disconnected.
 * Until: Node counts bytes as the system accepts them.
 */

/** What of Node's socket says how much of a write under way the system has accepted. */
interface Handle {
  bytesWritten: number
  writeQueueSize: number
}

/** Bytes that the system has accepted for the other side. A write counts with its parts, where Node has it under way. */
export function acceptedBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: Handle | null }
  if (handle?.writeQueueSize === undefined) return socket.bytesWritten - socket.writableLength
  return handle.bytesWritten - handle.writeQueueSize
}
