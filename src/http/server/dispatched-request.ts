import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { HttpTarget } from '../../upstream/targets.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import type { UpstreamRequest } from '../../upstream/wire/receiver.ts'

/** A request on its way to the first target that its upstream has chosen. */
export interface DispatchedRequest {
  request: FastifyRequest
  reply: FastifyReply
  upstream: Upstream
  target: HttpTarget
  outgoing: UpstreamRequest
  /** By which the upstream chooses its targets. */
  key: string | null
  log: FastifyBaseLogger
}
