import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { ResponseHead } from '../../upstream/headers/response-headers.ts'
import type { Upstream } from '../../upstream/upstream.ts'

const WORDS = {
  cookie: 'the upstream set a session cookie of the gateway, which was dropped',
  session: 'the upstream sent X-Dualgate-Session, which was dropped: it has no signs_in',
} as const

/** An upstream that sets a session of the gateway would sign its clients in as it likes, or out. */
export function logDropped(
  log: FastifyBaseLogger,
  { id }: FastifyRequest,
  { name, signsIn }: Upstream,
  { dropped }: ResponseHead,
): void {
  if (dropped === null || (dropped === 'session' && signsIn !== null)) return
  log.warn({ trace_id: id, upstream: name }, WORDS[dropped])
}
