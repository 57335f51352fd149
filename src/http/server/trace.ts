import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const WELL_FORMED = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/
/** W3C Trace Context: version, trace id, parent id, flags. An id of zeros is invalid. */
const TRACEPARENT = /^[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

type Headed = Pick<IncomingMessage, 'headers'>

/** The id of a request in answers and log lines: the client's own where it is well-formed, else 32 new hex digits. */
export function traceIdOf({ headers }: Headed): string {
  return (
    wellFormed(headers.trace_id) ??
    wellFormed(headers['x-request-id']) ??
    traceparentOf({ headers })?.split('-')[1] ??
    newTraceId()
  )
}

/** The trace that a request belongs to, as its client names it: a valid `traceparent`, or `undefined`. */
export function traceparentOf({ headers }: Headed): string | undefined {
  const { traceparent } = headers
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined
}

const ID_BYTES = 16
const ID_DIGITS = 2 * ID_BYTES
/** Drawn at once for many ids: a draw costs the same for one as for all of them. */
const POOL_BYTES = 256 * ID_BYTES
let pool = ''
let used = 0

export function newTraceId(): string {
  if (used === pool.length) {
    pool = randomBytes(POOL_BYTES).toString('hex')
    used = 0
  }
  const start = used
  used += ID_DIGITS
  return pool.slice(start, used)
}

const wellFormed = (value: unknown): string | null =>
  typeof value === 'string' && WELL_FORMED.test(value) ? value : null
