import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Verdict } from '../../gate/rules.ts'
import { CONTENT_TYPE } from '../../metrics/exposition.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { AnsweredRequest } from '../../metrics/requests.ts'
import type {} from '../forward/forward.ts'
import { describeMetrics } from './documents/probes.ts'

/** `/metrics` for Prometheus: what all processes of this gateway count, whichever of them is asked. */
export function serveMetrics(app: FastifyInstance, gather: () => Promise<string>): void {
  app.get('/metrics', { config: { description: describeMetrics } }, async (_request, reply) =>
    reply.type(CONTENT_TYPE).send(await gather()),
  )
}

/** What decided: a rule, or an exception from one. */
const ruleOf = (verdict: Verdict | null): AnsweredRequest['rule'] =>
  verdict === null ? 0 : verdict.exception === undefined ? verdict.rule.number : 'exception'

/** Counts every request of a listener that was answered. */
export const countAnswered =
  (metrics: Metrics) =>
  (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    if (request.refused !== 'CLIENT_LEFT') count(metrics, request, reply)
    done()
  }

/** Counts requests whose clients left before they were complete: their answers are made and never sent. */
export const countLeft =
  (metrics: Metrics) =>
  (request: FastifyRequest, reply: FastifyReply, _payload: unknown, done: () => void): void => {
    if (request.refused === 'CLIENT_LEFT') count(metrics, request, reply)
    done()
  }

const count = (metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void =>
  metrics.answered({
    rule: ruleOf(request.verdict),
    side: request.session?.record.type ?? 'none',
    upstream: request.upstream ?? 'gateway',
    status: reply.raw.statusCode,
    refused: request.refused,
    seconds: reply.elapsedTime / 1000,
  })
