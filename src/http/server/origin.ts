import type { FastifyRequest } from 'fastify'
import type { Origin } from '../../event/event.ts'
import { deviceTypeOf } from '../../login/sign-in/device.ts'

/** Where a change comes from that a request asks for: the user of its session, its client, and its trace id. */
export function originOf({ id, ip, headers, session }: FastifyRequest): Origin {
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
