import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../../log.ts'
import { traceparentOf } from './trace.ts'

/** One line per answered request: what was asked, what the gate said, how it ended. The query may hold secrets and is left out. */
export const createAccessLog =
  (log: Logger) =>
  (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const { verdict, session } = request
    log.info(
      {
        trace_id: request.id,
        // The id may be one of the client's own; this is what a tracing system finds the request by.
        traceparent: traceparentOf(request.raw),
        method: request.method,
        path: request.target?.path,
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
      },
      'request',
    )
    done()
  }
