import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../../refusal.ts'
import type { Session } from '../../../side/side.ts'

/** The session that the gate has found: of the side to which the path belongs. */
export function sessionOf({ session }: Pick<FastifyRequest, 'session'>): Session {
  if (session === null) throw new Refusal('NOT_LOGGED_IN')
  return session
}
