import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { invalid, Refusal } from '../../base/refusal.ts'
import { FAILURES, type Failure, failureMessage, inLocale, type Locale, SUCCESS } from './failure-texts.ts'
import { isUpgrade } from './upgrade.ts'

/** Every answer of the gateway itself: success is HTTP 200 and `code` 200 (compatibility with the clients in use). */
export interface Envelope<T> {
  code: number
  message: string
  data: T
  success: boolean
  trace_id: string
}

export type StatusStyle = 'envelope' | 'native'

/** Writes envelopes in one locale and one style of HTTP statuses. */
export interface Envelopes {
  success<T>(traceId: string, data: T): Envelope<T>
  failure(
    traceId: string,
    fault: unknown,
    /** Instead of the style of the others. */
    style?: StatusStyle,
  ): { status: number; reason: Failure; headers: Record<string, string>; body: Envelope<unknown> }
}

export function createEnvelopes(locale: Locale, style: StatusStyle): Envelopes {
  return {
    success: (traceId, data) => ({
      code: 200,
      message: inLocale(SUCCESS, locale),
      data,
      success: true,
      trace_id: traceId,
    }),
    failure(traceId, fault, own = style) {
      const refusal = asRefusal(fault)
      const reason = refusal?.reason ?? 'INTERNAL'
      const { code } = FAILURES[reason]
      const message = failureMessage(reason, refusal?.params ?? {}, locale)
      const status = httpStatusOf(reason, own)
      return {
        status,
        reason,
        headers: headersOf(refusal, status),
        body: { code, message, data: refusal?.data ?? null, success: false, trace_id: traceId },
      }
    },
  }
}

/** The HTTP status of a refusal: its code, unless it is one of those that clients read from the body of a 200. */
export function httpStatusOf(reason: Failure, style: StatusStyle): number {
  const { code, status } = FAILURES[reason]
  return style === 'native' ? code : (status ?? code)
}

function headersOf(refusal: Refusal | null, status: number): Record<string, string> {
  const headers: Record<string, string> = { 'cache-control': 'no-store', ...refusal?.headers }
  if (refusal?.allow !== undefined) headers.allow = refusal.allow
  if (refusal?.retryAfter !== undefined) headers['retry-after'] = String(refusal.retryAfter)
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  return headers
}

/** What Fastify refuses by itself, in our words; `null` for a fault. */
function asRefusal(fault: unknown): Refusal | null {
  if (fault instanceof Refusal) return fault
  const { code, statusCode } = fault as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Refusal('BODY_TOO_LARGE')
  if (code?.startsWith('FST_ERR_CTP_') || (fault instanceof SyntaxError && statusCode === 400)) {
    return invalid('body', 'must be a JSON object')
  }
  return null
}

/** A request whose body cannot be read to its end was ended by ourselves, with a refusal, or by its client. */
const faultOfReading = (fault: unknown): Refusal =>
  fault instanceof Refusal ? fault : new Refusal('CLIENT_LEFT', { cause: fault })

export interface ErrorHandlerOptions {
  /** The status that clients get for the status of a refusal. */
  shown?: ((status: number) => number) | undefined
  /** Answers a person who wants a page and is not signed in; `false` where the answer is for a program. */
  answerSignedOut?: AnswerSignedOut | null | undefined
}

/** Answers a refusal by itself, or leaves it to the envelopes with `false`. */
export type AnswerSignedOut = (
  request: FastifyRequest,
  reply: FastifyReply,
  refused: { reason: Failure; message: string },
) => boolean

/** The error handler of a listener: refusals as envelopes; faults logged with their cause and shown as "internal". */
export function createErrorHandler(
  envelopes: Envelopes,
  { shown = status => status, answerSignedOut = null }: ErrorHandlerOptions = {},
) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const fault = thrown === request.raw.errored ? faultOfReading(thrown) : thrown
    // A client that opens a WebSocket reads only the status, and needs one that is not 101. What a page loads knows no envelope.
    const isHandshake = isUpgrade(request.raw)
    const isNative = isHandshake || isOfPage(request)
    const { status, reason, headers, body } = envelopes.failure(request.id, fault, isNative ? 'native' : undefined)
    if (isHandshake) headers.connection = 'close'
    request.refused = reason
    if (reason === 'INTERNAL') request.log.error({ err: fault }, 'internal fault')
    else if (reason === 'CLIENT_LEFT') request.log.debug({ reason }, 'the client left before its body was complete')
    // Not a fault, and very many requests for a while; they are counted, and in the access log.
    else if (reason === 'MAINTENANCE') request.log.debug({ reason }, 'not served')
    else if (status >= 500) request.log.warn({ reason, err: (fault as Error).cause }, 'not served')
    reply.headers(headers)
    if (answerSignedOut?.(request, reply, { reason, message: body.message }) === true) return
    reply.code(shown(status)).type('application/json; charset=utf-8').send(JSON.stringify(body))
  }
}

const isOfPage = ({ verdict }: FastifyRequest): boolean => verdict?.page !== undefined
