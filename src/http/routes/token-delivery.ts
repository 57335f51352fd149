import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalid, Refusal } from '../../base/refusal.ts'
import type { CredentialRules } from '../../gate/credential.ts'
import { isCrossOrigin } from '../../gate/cross-origin.ts'
import type { Began } from '../../login/sign-in/begin.ts'
import type { LoginType } from '../../session/sides.ts'
import type { Settings } from '../../settings/schema/settings.ts'
import type { FieldSchema } from '../server/validation.ts'

/* How a client gets the session that its login has begun: the token in the answer, or in a cookie that no script can read. */

/** The field of a login, and of each of its steps, that asks for a cookie. */
export const KEPT_IN = {
  type: ['string', 'null'],
  enum: ['cookie', null],
  description:
    'cookie: the token comes in a cookie, and not in the answer. Only where `browser` is on for the side, and not from a page of another origin.',
} as const satisfies FieldSchema

/** A session as its client gets it. */
type Delivered<T> = Omit<T, 'token'> & ({ token: string; token_name: string } | { cookie: string })

export type DeliveryOf = (
  request: FastifyRequest<{ Body: { session?: 'cookie' | null } }>,
  reply: FastifyReply,
  type: LoginType,
) => <T extends Began>(began: T) => Delivered<T>

/**
 * Reads where a login wants its session. Throws before anything is checked or used up: the refusal `INVALID` where the side
 * has no cookies, and `CROSS_ORIGIN` for a page of another origin, which would sign its visitor in to an account of its own choice.
 */
export function createDelivery({ jwt }: Pick<Settings, 'jwt'>, { cookies, origins }: CredentialRules): DeliveryOf {
  return (request, reply, type) => {
    if (request.body.session !== 'cookie') {
      // In the order in which clients and the guide have always seen the fields.
      return <T extends Began>({ expires_in, ...began }: T) =>
        ({ ...began, token_name: jwt.token_name, expires_in }) as unknown as Delivered<T>
    }
    if (cookies?.sides.has(type) !== true) {
      throw invalid('session', 'must be left out: sessions of this side are not kept in cookies')
    }
    if (isCrossOrigin(request.headers, request, origins)) throw new Refusal('CROSS_ORIGIN')
    return ({ token, ...began }) => {
      reply.header('set-cookie', cookies.set(type, token, began.expires_in))
      return { ...began, cookie: cookies.name(type) }
    }
  }
}
