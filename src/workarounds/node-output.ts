/*
 * Seen in: Node 20.20.2 and 26.10.0. Standard output or error that is a pipe is blocking for all processes that share it as soon as one of
 * them starts or ends: libuv sets the mode of the shared description.
 * Upstream: https://github.com/nodejs/node/pull/12970 and the issues that it names (closed).
 * Without it: a reader of the log that stalls stalls every request, and one of standard error the supervisor.
 * Until: Node has a documented way to make them non-blocking.
 */

/** What Node's streams of pipes and sockets have below them. */
interface StreamHandle {
  setBlocking(isBlocking: boolean): void
}

/** How standard output or error is made non-blocking, if it is a pipe or a socket. */
export function nonBlocking(stream: NodeJS.WritableStream): () => void {
  const { _handle: handle, isTTY } = stream as typeof stream & { _handle?: StreamHandle; isTTY?: boolean }
  return handle === undefined || isTTY === true ? () => undefined : () => handle.setBlocking(false)
}
