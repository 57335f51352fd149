import type { FastifyInstance } from 'fastify'
import { CONTENT_TYPE } from '../../metrics/exposition.ts'
import { PROBE } from './common-fields.ts'
import type { PlainContract } from './contract.ts'

const METRICS: PlainContract = {
  summary: 'What the gateway counts, for Prometheus',
  plain: [
    {
      status: 200,
      description: 'The text format of Prometheus, over all workers.',
      type: 'text/plain',
      schema: { type: 'string' },
      example: '# TYPE dualgate_requests_total counter\n',
    },
  ],
}

/** `/metrics` for Prometheus: the counts of all processes of this gateway, from any of them. */
export function serveMetrics(app: FastifyInstance, gather: () => Promise<string>): void {
  app.get('/metrics', { config: { documented: { ...PROBE, ...METRICS } } }, async (_request, reply) =>
    reply.type(CONTENT_TYPE).send(await gather()),
  )
}
