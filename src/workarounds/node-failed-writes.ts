import type { Socket } from 'node:net'

/*
 * Seen in: Node 20.20.2. A failed write destroys the socket, although the system still has data that arrived before.
 * Upstream: no issue is known.
 * Without it: a target that refuses a large body and closes the connection has its answer lost, and the client gets 502.
 * Until: Node reads what has arrived before it destroys a socket.
 */

type Written = (error?: Error | null) => void

/** How Node's streams pass data to the system: one chunk, or several. */
interface Writing {
  _write(chunk: unknown, encoding: BufferEncoding, written: Written): void
  _writev(chunks: unknown[], written: Written): void
}

/**
 * Asks `holdsBack` about each failed write of the socket. Where it answers true, the write never ends, nothing behind it is written,
 * and the socket is read to the end of what has arrived.
 */
export function keepReading(socket: Socket, holdsBack: (error: Error) => boolean): void {
  const writing = socket as unknown as Writing
  const { _write: write, _writev: writev } = writing
  const unlessHeldBack =
    (written: Written): Written =>
    error => {
      if (!error || !holdsBack(error)) written(error)
    }
  writing._write = (chunk, encoding, written) => write.call(socket, chunk, encoding, unlessHeldBack(written))
  writing._writev = (chunks, written) => writev.call(socket, chunks, unlessHeldBack(written))
}
