/*
 * Seen in: Node 20.20.2 and 26.10.0. Standard output that is a pipe is blocking for all processes that share it as soon as one of
 * them starts or ends: libuv sets the mode of the shared description.
 * Upstream: https://github.com/nodejs/node/pull/12970 and the issues that it names (closed).
 * Without it: a reader of the log that stalls stalls every request.
 * Until: Node has a documented way to make standard output non-blocking.
 */

/** What Node's streams of pipes and sockets have below them. */
interface StreamHandle {
  setBlocking(isBlocking: boolean): void
}

/** How standard output is made non-blocking, if it is a pipe or a socket. */
export function nonBlockingStandardOutput(): () => void {
  const { _handle: handle, isTTY } = process.stdout as typeof process.stdout & { _handle?: StreamHandle }
  return handle === undefined || isTTY ? () => undefined : () => handle.setBlocking(false)
}
