import type { FastifyRequest } from 'fastify'
import type { Origin } from '../../event/event.ts'
import { deviceTypeOf } from '../../login/sign-in/device.ts'
import type { Session } from '../../side/side.ts'

/**
 * Where a change comes from that a request asks for: the user of its session, its client, and its trace id. On a path that needs no
 * session, `session` is the one that the request has proven there.
 */
export function originOf(request: FastifyRequest, session: Session | null = request.session): Origin {
  const { id, ip, headers } = request
  const device = session?.record.extra.device_id
  return {
    ...(session !== null && { by: session.record.user_id, by_type: session.record.type }),
    trace_id: id,
    // A connection that is gone has no address.
    ...(typeof ip === 'string' && { address: ip }),
    device_type: deviceTypeOf(headers['user-agent'] ?? ''),
    ...(typeof device === 'string' && device !== '' && { device_id: device }),
  }
}
