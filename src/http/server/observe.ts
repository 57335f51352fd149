import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Verdict } from '../../gate/rules.ts'
import type { Logger } from '../../log.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { AnsweredRequest } from '../../metrics/requests.ts'
import { traceparentOf } from './trace.ts'

/** What is counted and logged of the requests of a listener. */
export interface Observer {
  /**
   * Every request, or those that were refused only. Refusals are counted for every listener; the numbers of requests and
   * their durations are those of one whose every request is observed.
   */
  requests: 'every' | 'refused'
  metrics: Pick<Metrics, 'answered' | 'refused'>
  /** Gets one line for each observed request; `null` for no access log. */
  accessLog: Logger | null
}

/** Counts and logs the requests of a listener. */
export function observe(app: FastifyInstance, observer: Observer): void {
  const { answered, left } = createObservation(observer)
  app.addHook('onResponse', (request, reply, done) => {
    answered(request, reply)
    done()
  })
  app.addHook('onSend', (request, reply, _payload, done) => {
    left(request, reply)
    done()
  })
}

export function createObservation({ requests, metrics, accessLog }: Observer) {
  function count(request: FastifyRequest, reply: FastifyReply): void {
    if (requests === 'every') metrics.answered(countedOf(request, reply))
    if (request.refused !== null) metrics.refused(request.refused)
  }

  return {
    /** The request was answered, or its client left. */
    answered(request: FastifyRequest, reply: FastifyReply): void {
      if (request.refused !== 'CLIENT_LEFT') count(request, reply)
      if (requests === 'every' || request.refused !== null) accessLog?.info(lineOf(request, reply), 'request')
    },
    /** Counts a request whose client left before it was complete: its answer is made and never sent. */
    left(request: FastifyRequest, reply: FastifyReply): void {
      if (request.refused === 'CLIENT_LEFT') count(request, reply)
    },
  }
}

/** What decided: a rule, or an exception from one. */
const ruleOf = (verdict: Verdict | null): AnsweredRequest['rule'] =>
  verdict === null ? 0 : verdict.exception === undefined ? verdict.rule.number : 'exception'

const countedOf = (request: FastifyRequest, reply: FastifyReply): AnsweredRequest => ({
  rule: ruleOf(request.verdict),
  side: request.session?.record.type ?? 'none',
  upstream: request.upstream ?? 'gateway',
  status: reply.raw.statusCode,
  seconds: reply.elapsedTime / 1000,
})

/** The request, the decision of the gate and the answer. The query may hold secrets and is left out. */
function lineOf(request: FastifyRequest, reply: FastifyReply): Record<string, unknown> {
  const { verdict, session } = request
  return {
    trace_id: request.id,
    // The request id may come from the client; a tracing system finds the request by this one.
    traceparent: traceparentOf(request.raw),
    method: request.method,
    path: request.target?.path,
    // The path of a request that the gate has not read may be anything; the route that it reached is one of ours.
    route: request.target === undefined ? request.routeOptions.url : undefined,
    rule: verdict?.rule.number,
    exception: verdict?.exception?.path,
    side: session?.record.type,
    login_id: session?.record.user_id,
    jti: session?.claims.jti,
    upstream: request.upstream ?? undefined,
    status: reply.raw.statusCode,
    refused: request.refused ?? undefined,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    ip: request.ip,
  }
}
