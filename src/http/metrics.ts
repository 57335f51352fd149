import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CONTENT_TYPE } from '../metrics/exposition.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { describeMetrics } from './documents/probes.ts'
import type {} from './forward/forward.ts'

/** `/metrics` for Prometheus: what all processes of this gateway count, whichever of them is asked. */
export function serveMetrics(app: FastifyInstance, gather: () => Promise<string>): void {
  app.get('/metrics', { config: { description: describeMetrics } }, async (_request, reply) =>
    reply.type(CONTENT_TYPE).send(await gather()),
  )
}

/** Counts every request of a listener that was answered. */
export const countAnswered =
  (metrics: Metrics) =>
  (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    metrics.answered({
      rule: request.verdict?.rule ?? 0,
      side: request.session?.record.type ?? 'none',
      upstream: request.upstream ?? 'gateway',
      status: reply.raw.statusCode,
      refused: request.refused,
      seconds: reply.elapsedTime / 1000,
    })
    done()
  }
