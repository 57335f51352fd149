import type { Contract } from './contract.ts'
import { type LoginOptions, SIGNED_IN } from './login.ts'
import { answering, type Endpoints, required } from './own-routes.ts'
import { CODE, NEW_FACTOR, RECOVERY_CODES } from './second-factor-fields.ts'
import { KEPT_IN } from './token-delivery.ts'

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
        session: KEPT_IN,
      },
      required: ['ticket', 'new_password'],
    },
    example: { ticket: 'pT0u2mGq5bYk1Zr8wXc3Lh7dVfNs6JaE', new_password: `${'9f21c4'.repeat(32)}…` },
  },
  data: SIGNED_IN,
  refusals: [
    'TICKET_INVALID',
    'PASSWORD_NOT_ALLOWED',
    'STEP_REQUIRED',
    'DISABLED',
    'TOO_MANY_ATTEMPTS',
    'BUSY',
    'ACCOUNTS_UNWRITABLE',
  ],
} as const satisfies Contract

const SECOND_FACTOR = {
  summary: 'Sign in, step `second-factor`: a code',
  details:
    'For a login that demands a code of the second factor, and for the proof that ends its set-up: then the answer also holds `recovery_codes`, in `data` of the token or of the next step. The fifth wrong code makes the ticket invalid.',
  body: {
    schema: {
      type: 'object',
      properties: { ticket: TICKET, code: CODE, session: KEPT_IN },
      required: ['ticket', 'code'],
    },
    example: { ticket: 'pT0u2mGq5bYk1Zr8wXc3Lh7dVfNs6JaE', code: '287082' },
  },
  data: {
    schema: {
      ...SIGNED_IN.schema,
      properties: {
        ...SIGNED_IN.schema.properties,
        recovery_codes: RECOVERY_CODES.schema.properties.recovery_codes,
      },
    },
    example: SIGNED_IN.example,
  },
  refusals: [
    'TICKET_INVALID',
    'WRONG_CODE',
    'STEP_REQUIRED',
    'SETUP_GONE',
    'FACTOR_UNREADABLE',
    'DISABLED',
    'TOO_MANY_ATTEMPTS',
    'BUSY',
    'ACCOUNTS_UNWRITABLE',
  ],
} as const satisfies Contract

const SETUP = {
  summary: 'Sign in, step `second-factor-setup`: a new second factor',
  details:
    'For a login that demands the set-up of a second factor. Show it to an authenticator app, and send a code of the app with the same ticket to `second-factor`. Until then nothing changes. A further request shows another one, which replaces it.',
  body: {
    schema: { type: 'object', properties: { ticket: TICKET }, required: ['ticket'] },
    example: { ticket: 'pT0u2mGq5bYk1Zr8wXc3Lh7dVfNs6JaE' },
  },
  data: NEW_FACTOR,
  refusals: ['TICKET_INVALID', 'DISABLED', 'TOO_MANY_ATTEMPTS', 'ACCOUNTS_UNWRITABLE'],
} as const satisfies Contract

/** The steps that a login may demand after the password. */
export const loginStepEndpoints = ({ logins, deliveryOf }: LoginOptions) =>
  ({
    'login/password': type => {
      const changePassword = required(logins[type]?.changePassword)
      return answering(PASSWORD, async (request, reply) => {
        const deliver = deliveryOf(request, reply, type)
        return deliver(await changePassword({ ...request.body, address: request.ip, trace_id: request.id }))
      })
    },
    'login/second-factor': type => {
      const { enter } = required(logins[type]?.secondFactor)
      return answering(SECOND_FACTOR, async (request, reply) => {
        const deliver = deliveryOf(request, reply, type)
        return deliver(await enter({ ...request.body, address: request.ip, trace_id: request.id }))
      })
    },
    'login/second-factor/setup': type => {
      const { setUp } = required(logins[type]?.secondFactor)
      return answering(SETUP, ({ body, id, ip }) => setUp({ ...body, address: ip, trace_id: id }))
    },
  }) satisfies Partial<Endpoints>
