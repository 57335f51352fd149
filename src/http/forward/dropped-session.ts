import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { Upstream } from '../../upstream/upstream.ts'

/** An upstream that sets a session cookie of the gateway would sign its clients in as it likes, or out. */
export const logDroppedSession = (log: FastifyBaseLogger, { id }: FastifyRequest, { name }: Upstream): void =>
  log.warn({ trace_id: id, upstream: name }, 'the upstream set a session cookie of the gateway, which was dropped')
