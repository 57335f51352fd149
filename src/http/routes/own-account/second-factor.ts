import type { FastifyInstance } from 'fastify'
import type { OwnSecondFactor } from '../../../login/own-second-factor.ts'
import { type LoginType, SIDES } from '../../../session.ts'
import { originOf } from '../../server/origin.ts'
import { type Contract, NOTHING, type Place, serve } from '../contract.ts'
import { CODE, NEW_FACTOR, RECOVERY_CODES } from '../second-factor-fields.ts'
import { CURRENT_PASSWORD, ENCRYPTED } from './fields.ts'
import type { OwnAccountRoutesOptions } from './own-account.ts'
import { sessionOf } from './session.ts'

const REFUSALS = [
  'WRONG_CREDENTIALS',
  'WRONG_CODE',
  'FACTOR_UNREADABLE',
  'DISABLED',
  'TOO_MANY_ATTEMPTS',
  'BUSY',
  'ACCOUNTS_UNWRITABLE',
] as const

const SETUP = {
  summary: 'Set up a second factor: the secret for an app',
  details:
    'Nothing changes before `confirm`, within ten minutes and in the same session. To replace a second factor, send a code of it too.',
  body: {
    schema: {
      type: 'object',
      properties: { current_password: CURRENT_PASSWORD, code: { ...CODE, type: ['string', 'null'] } },
      required: ['current_password'],
    },
    example: { current_password: ENCRYPTED },
  },
  data: NEW_FACTOR,
  refusals: REFUSALS,
} as const satisfies Contract

const CONFIRM = {
  summary: 'Set up a second factor: prove that the app has the secret',
  details: 'If it replaces another second factor, the other sessions of the user end.',
  body: {
    schema: {
      type: 'object',
      properties: { code: { ...CODE, description: 'The six digits that the app shows.' } },
      required: ['code'],
    },
    example: { code: '287082' },
  },
  data: RECOVERY_CODES,
  refusals: ['SETUP_GONE', 'WRONG_CODE', 'DISABLED', 'TOO_MANY_ATTEMPTS', 'ACCOUNTS_UNWRITABLE'],
} as const satisfies Contract

const PROOF = {
  schema: {
    type: 'object',
    properties: { current_password: CURRENT_PASSWORD, code: CODE },
    required: ['current_password', 'code'],
  },
  example: { current_password: ENCRYPTED, code: '287082' },
} as const

const RENEW = {
  summary: 'New recovery codes',
  details: 'The older ones are void.',
  body: PROOF,
  data: RECOVERY_CODES,
  refusals: [...REFUSALS, 'NO_SECOND_FACTOR'],
} as const satisfies Contract

const REMOVE = {
  summary: 'Remove the second factor',
  details: 'Refused where a second factor is required. The other sessions of the user end.',
  body: PROOF,
  data: NOTHING,
  refusals: [...REFUSALS, 'NO_SECOND_FACTOR', 'FACTOR_REQUIRED'],
} as const satisfies Contract

/** The second factor of the user of a session, below `/api/v<n>/b/account` and `/api/v<n>/c/account`. */
export function serveOwnSecondFactor(
  app: FastifyInstance,
  type: LoginType,
  own: OwnSecondFactor,
  { versions, envelopes }: OwnAccountRoutesOptions,
): void {
  const place: Place = { group: 'account', side: type, needs: type }
  const post = <C extends Contract>(
    base: string,
    contract: C,
    answer: Parameters<typeof serve<C>>[2]['answer'],
  ): void => serve(app, envelopes, { method: 'POST', path: base, place, contract, answer })
  for (const version of versions) {
    const base = `/api/v${version}/${SIDES[type].section}/account/second-factor`
    post(`${base}/setup`, SETUP, request => own.setUp(sessionOf(request, type), request.body, originOf(request)))
    post(`${base}/confirm`, CONFIRM, async request => ({
      recovery_codes: [...(await own.confirm(sessionOf(request, type), request.body.code, originOf(request)))],
    }))
    post(`${base}/recovery-codes`, RENEW, async request => ({
      recovery_codes: [...(await own.renewRecoveryCodes(sessionOf(request, type), request.body, originOf(request)))],
    }))
    post(`${base}/remove`, REMOVE, async request => {
      await own.remove(sessionOf(request, type), request.body, originOf(request))
      return null
    })
  }
}
