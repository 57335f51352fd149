import type { FastifyInstance } from 'fastify'
import { CONTENT_TYPE } from '../../metrics/exposition.ts'
import { describeMetrics } from './documents/probes.ts'

/** `/metrics` for Prometheus: what all processes of this gateway count, whichever of them is asked. */
export function serveMetrics(app: FastifyInstance, gather: () => Promise<string>): void {
  app.get('/metrics', { config: { description: describeMetrics } }, async (_request, reply) =>
    reply.type(CONTENT_TYPE).send(await gather()),
  )
}
