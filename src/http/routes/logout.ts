import type { Settings } from '../../settings/schema/settings.ts'
import type { SessionCookies } from '../../token/cookie.ts'
import type { Sides } from '../server/authenticate.ts'
import { inLocale, LOGGED_OUT } from '../server/failure-texts.ts'
import { originOf } from '../server/origin.ts'
import type { Contract } from './contract.ts'
import { answering, type Endpoint } from './own-routes.ts'

const LOGOUT = {
  summary: 'Sign out',
  details: 'Ends the session of the request, and removes its cookie if it came in one.',
  data: {
    schema: {
      type: 'object',
      properties: { message: { type: 'string', description: 'In the configured language.' } },
      required: ['message'],
    },
    example: { message: 'Logged out' },
  },
} as const satisfies Contract

/** The logout of the clients in use, behind the gate of its side. */
export const logoutEndpoint =
  (sides: Sides, locale: Settings['locale'], cookies: SessionCookies | null): Endpoint =>
  type =>
    answering(LOGOUT, async (request, reply) => {
      await sides[type].logoutSession(request.session!, originOf(request))
      if (request.hasCookieSession) reply.header('set-cookie', cookies!.expire(type))
      return { message: inLocale(LOGGED_OUT, locale) }
    })
