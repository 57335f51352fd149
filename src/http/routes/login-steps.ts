import type { FastifyInstance } from 'fastify'
import type { Login } from '../../login/login.ts'
import { type LoginType, SIDES } from '../../session.ts'
import { type Contract, type Place, serve } from './contract.ts'
import { type LoginRoutesOptions, SIGNED_IN, signedIn } from './login.ts'

/** Longer than any ticket. */
const MAX_TICKET_LENGTH = 128

const TICKET = {
  type: 'string',
  maxLength: MAX_TICKET_LENGTH,
  description: '`data.ticket` of the answer that demanded this step.',
} as const

const PASSWORD = {
  summary: 'Sign in, step `password`: a new password',
  details:
    'For a login that demands another password. All older sessions of the user end. If the new password has faults, `data.faults` names all of them, and the ticket can be used again.',
  body: {
    schema: {
      type: 'object',
      properties: {
        ticket: TICKET,
        new_password: { type: 'string', description: 'The new password, encrypted with SM2 as at `login`.' },
      },
      required: ['ticket', 'new_password'],
    },
    example: { ticket: 'pT0u2mGq5bYk1Zr8wXc3Lh7dVfNs6JaE', new_password: `${'9f21c4'.repeat(32)}…` },
  },
  data: SIGNED_IN,
  refusals: ['TICKET_INVALID', 'PASSWORD_NOT_ALLOWED', 'STEP_REQUIRED', 'DISABLED', 'TOO_MANY_ATTEMPTS', 'BUSY'],
} as const satisfies Contract

/** The steps that a login may demand after the password, as far as the accounts of the side have them. */
export function serveLoginSteps(
  app: FastifyInstance,
  type: LoginType,
  { changePassword }: Login,
  { settings, envelopes }: LoginRoutesOptions,
): void {
  const place: Place = { group: 'login', side: type, needs: 'nothing' }
  for (const version of settings.api_versions) {
    const base = `/api/v${version}/public/${SIDES[type].section}/login`
    if (changePassword === undefined) continue
    serve(app, envelopes, {
      method: 'POST',
      path: `${base}/password`,
      place,
      contract: PASSWORD,
      async answer({ body, id, ip }, reply) {
        reply.header('cache-control', 'no-store')
        return signedIn(await changePassword({ ...body, address: ip, trace_id: id }), settings)
      },
    })
  }
}
