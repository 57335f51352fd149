import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createLineWriter, type Logger, quoted } from '../../base/log/log.ts'
import type { Verdict } from '../../gate/rules.ts'
import type { Session } from '../../side/side.ts'
import { FAILURES } from './failure-texts.ts'
import type { AnsweredRequest, RequestCounter } from './request-metrics.ts'
import { sentBytes } from './sent-bytes.ts'
import { traceparentOf } from './trace.ts'

/** What is counted and logged of the requests of a listener. */
export interface Observer {
  /**
   * Every request, or those that were refused only. Refusals are counted for every listener; the numbers of requests and
   * their durations are those of one whose every request is observed.
   */
  requests: 'every' | 'refused'
  counter: RequestCounter
  /** Gets one line for each observed request; `null` for no access log. */
  accessLog: Logger | null
}

export type Observation = ReturnType<typeof createObservation>

/** Counts and logs the requests of a listener. */
export function observe(app: FastifyInstance, { answered, closed }: Pick<Observation, 'answered' | 'closed'>): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.raw.on('close', () => closed(request, reply))
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    answered(request, reply)
    done()
  })
}

export function createObservation({ requests, counter, accessLog }: Observer) {
  const writeLine = accessLog === null ? null : createLineWriter(accessLog, 'request')

  function observe(request: FastifyRequest, reply: FastifyReply, isIncomplete: boolean): void {
    request.isObserved = true
    if (requests === 'every') counter.answered(countedOf(request, reply))
    if (request.refused !== null) counter.refused(request.refused)
    if (writeLine === null) return
    // Also of an answer without a line, or the next one on this connection would count its bytes.
    const bytes = sentBytes(request.raw.socket)
    if (requests === 'every' || request.refused !== null) writeLine(fieldsOf(request, reply, bytes, isIncomplete))
  }

  return {
    /** The request was answered. What was written to a connection that is closed may end behind it. */
    answered(request: FastifyRequest, reply: FastifyReply): void {
      if (!request.isObserved) observe(request, reply, false)
    },
    /** Its connection is closed, or serves the next one: one without an end of its answer is observed here. */
    closed(request: FastifyRequest, reply: FastifyReply): void {
      if (request.isObserved) return
      const { raw } = reply
      const isBegun = raw.headersSent
      if (!isBegun) {
        request.refused = 'CLIENT_LEFT'
        raw.statusCode = FAILURES.CLIENT_LEFT.code
      }
      observe(request, reply, isBegun)
    },
    /** What is no request to any hook was refused: only its connection is known. */
    unparsable(socket: Socket, { traceId, status, reason }: { traceId: string; status: number; reason: string }): void {
      counter.refused(reason)
      const { remoteAddress: ip } = socket
      writeLine?.(
        `,"trace_id":${quoted(traceId)},"status":${status},"refused":${quoted(reason)},"bytes":${sentBytes(socket)}` +
          (ip === undefined ? '' : `,"ip":${quoted(ip)}`),
      )
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

/** The request, the decision of the gate and the answer, as JSON. The query may hold secrets and is left out. */
function fieldsOf(
  request: FastifyRequest,
  reply: FastifyReply,
  bytes: number | undefined,
  isIncomplete: boolean,
): string {
  const { id, target, verdict, session, upstream, refused, ip } = request
  // The request id may come from the client; a tracing system finds the request by this one.
  const traceparent = traceparentOf(request.raw)
  const agent = request.raw.headers['user-agent']
  return (
    `,"trace_id":${quoted(id)}` +
    (traceparent === undefined ? '' : `,"traceparent":${quoted(traceparent)}`) +
    `,"method":${quoted(request.method)}` +
    // The path of a request that the gate has not read may be anything; the route that it reached is one of ours.
    (target === undefined ? routeField(request) : `,"path":${quoted(target.path)}`) +
    (verdict === null ? '' : verdictFields(verdict)) +
    (session === null ? '' : sessionFields(session)) +
    (upstream === null ? '' : `,"upstream":${quoted(upstream)}`) +
    `,"status":${reply.raw.statusCode}` +
    (refused === null ? '' : `,"refused":${quoted(refused)}`) +
    `,"ms":${Math.round(reply.elapsedTime * 10) / 10}` +
    (isIncomplete ? ',"incomplete":true' : '') +
    // Those of a WebSocket are not its handshake's.
    (bytes === undefined || reply.raw.statusCode === SWITCHED ? '' : `,"bytes":${bytes}`) +
    // The address of a client that has left is gone.
    (ip === undefined ? '' : `,"ip":${quoted(ip)}`) +
    (agent === undefined ? '' : `,"user_agent":${agentText(agent)}`)
  )
}

const SWITCHED = 101

/** Longest logged user agent, in characters. */
const MAX_AGENT = 256
const CONTROLS = /[\x00-\x1f\x7f-\x9f]/g
/** Without any of them, and nothing else to escape: nearly every user agent. */
const ORDINARY = /^[ !#-[\]-~]*$/

const agentText = (agent: string): string =>
  agent.length <= MAX_AGENT && ORDINARY.test(agent)
    ? `"${agent}"`
    : quoted(agent.slice(0, MAX_AGENT).replace(CONTROLS, ''))

const routeField = ({ routeOptions: { url } }: FastifyRequest): string =>
  url === undefined ? '' : `,"route":${quoted(url)}`

const verdictFields = ({ rule, exception }: Verdict): string =>
  `,"rule":${rule.number}${exception === undefined ? '' : `,"exception":${quoted(exception.path)}`}`

/** A session by key is named by the id of the key. */
const sessionFields = ({ record, claims, key }: Session): string =>
  `,"side":${quoted(record.type)},"login_id":${quoted(record.user_id)},"${key === undefined ? 'jti' : 'key'}":${quoted(claims.jti)}`
