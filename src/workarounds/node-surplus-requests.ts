import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/*
 * Seen in: Node 20.20.2 and 26.10.0. Node reads all pipelined requests of a packet at once. It keeps each of them, with its response, until
 * those before it are answered, also the ones that are never served. Nothing public stops it between two of them.
 * Upstream: no issue is known.
 * Without it: one packet of 64 KiB holds 3.6 MB for as long as the first of its requests takes, 55 bytes for each byte.
 * Until: Node limits the requests that wait on a connection.
 */

/** A socket whose bytes Node's parser reads. */
interface Parsed {
  parser?: { onIncoming: (request: IncomingMessage & { upgrade?: boolean }) => number } | null
}

/** Requests that arrive later on this connection are dropped, before Node makes a response for them or keeps them. */
export function dropLaterRequests(socket: Socket): void {
  const { parser } = socket as Parsed
  if (parser) parser.onIncoming = drop
}

const drop: NonNullable<Parsed['parser']>['onIncoming'] = request => {
  // Otherwise Node would take the connection away from the answers ahead.
  request.upgrade = false
  // The parser reads on.
  return 0
}
