import type { FastifyInstance } from 'fastify'
import type { Target } from '../../gate/path.ts'
import type { Verdict } from '../../gate/rules.ts'
import type { Session } from '../../side/side.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import type { Failure } from './failure-texts.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The canonical path and the raw query: they are checked and forwarded. */
    target: Target
    /** The decision of the gate; `null` before it, and for a request that was refused earlier. */
    verdict: Verdict | null
    /** The client's live session; `null` if none was needed. */
    session: Session | null
    /** Whether the session, if there is one, is proven by a cookie. */
    hasCookieSession: boolean
    /** The upstream of its path; `null` for none, and for a route of the gateway's own. */
    destination: Upstream | null
    /** Name of the upstream that the request goes to, once it has passed the gate; `null` for a route of the gateway's own. */
    upstream: string | null
    /** Why the request was refused; `null` while it is not. */
    refused: Failure | null
    /** Whether it has been counted and logged. */
    isObserved: boolean
  }
}

/** What the requests of both listeners have beside what Fastify gives them: log and metrics read it. */
export function decorateRequests(app: FastifyInstance): void {
  app.decorateRequest('target')
  app.decorateRequest('verdict', null)
  app.decorateRequest('session', null)
  app.decorateRequest('hasCookieSession', false)
  app.decorateRequest('destination', null)
  app.decorateRequest('upstream', null)
  app.decorateRequest('refused', null)
  app.decorateRequest('isObserved', false)
}
