import type { IncomingMessage } from 'node:http'

/*
 * Seen in: Node 20.19.2 and 22.0.0, and not in 20.19.3 and 22.11.0. The parser knows QUERY, and the list of names beside it does not: the
 * request has no method.
 * Upstream: no issue is known.
 * Without it: Fastify has no handler for such a request, which is an internal fault, with its stack in the log.
 * Until: Node 20 and 22 are no longer supported.
 */

/** The request, with the only method whose name Node may not know. */
export function namedMethod(request: IncomingMessage): IncomingMessage {
  request.method ??= 'QUERY'
  return request
}
