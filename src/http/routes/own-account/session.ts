import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../../base/refusal.ts'
import type { LoginType } from '../../../session.ts'
import type { Session } from '../../../side/side.ts'

/** The session that the gate has found: of the side to which the path belongs, whatever the gate has admitted. */
export function sessionOf({ session }: Pick<FastifyRequest, 'session'>, type: LoginType): Session {
  if (session === null || session.record.type !== type) throw new Refusal('NOT_LOGGED_IN')
  return session
}
