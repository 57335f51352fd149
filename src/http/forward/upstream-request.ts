import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CanonicalPath } from '../../gate/path.ts'
import type { Verdict } from '../../gate/rules.ts'
import type { OwnTokens } from '../../token/issued-here.ts'
import { createRequestHeaders } from '../../upstream/headers/request-headers.ts'
import type { HttpTarget } from '../../upstream/targets.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import type { UpstreamRequest } from '../../upstream/wire/receiver.ts'
import { clientNetworkOf } from '../server/client-network.ts'

/** A request that passed the gate, and its destination. */
export interface Forwarded {
  request: FastifyRequest
  reply: FastifyReply
  verdict: Verdict
  upstream: Upstream
  /** The path for the upstream. */
  path: CanonicalPath
  /** By which the upstream chooses its targets; `null` for none. */
  key: string | null
}

/**
 * Builds the request to an upstream, without the body. `tokenHeader` is the lower-case name of the header with the
 * token; `assertion` is what the upstream's `assertions` answered for the session.
 */
export function createOutgoing({ tokenHeader, ownTokens }: { tokenHeader: string; ownTokens: OwnTokens }) {
  const requestHeaders = createRequestHeaders(tokenHeader, ownTokens)

  return (
    { request, verdict, upstream, path }: Forwarded,
    target: HttpTarget | null,
    assertion: string | null,
  ): UpstreamRequest => {
    const { session, hasCookieSession, raw, host, method } = request
    const { query: sent } = request.target
    const { passAuthorization, via, requestEdits, assertions } = upstream
    const incoming = {
      rawHeaders: raw.rawHeaders,
      connection: raw.headers.connection,
      verdict,
      session,
      hasCookieSession,
      id: request.id,
      ip: request.ip,
      protocol: request.protocol,
      host,
      httpVersion: raw.httpVersion,
    }
    const own = upstream.host === 'preserve' && host !== '' ? host : (target?.authority ?? 'echo')
    const headers = requestHeaders(incoming, { host: own, passAuthorization, via, edits: requestEdits })
    if (upstream.identity !== null) headers.push(...upstream.identity.headersFor({ method, path, session }))
    if (assertion !== null && assertions !== null) headers.push(assertions.header, assertion)
    const query = passAuthorization === 'off' ? ownTokens.removedFrom(sent) : ownTokens.keysRemovedFrom(sent)
    if (requestEdits !== null) headers.push(...requestEdits.added)
    return { method, path: path + query, headers, body: null, client: clientNetworkOf(request) }
  }
}
