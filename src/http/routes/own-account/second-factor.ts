import type { OwnSecondFactor } from '../../../login/own-account/own-second-factor.ts'
import type { LoginType } from '../../../session/sides.ts'
import { originOf } from '../../server/origin.ts'
import { NOTHING } from '../common-fields.ts'
import type { Contract } from '../contract.ts'
import { answering, type Endpoints, required } from '../own-routes.ts'
import { CODE, NEW_FACTOR, RECOVERY_CODES } from '../second-factor-fields.ts'
import { CURRENT_PASSWORD, ENCRYPTED, PROOF_REFUSALS } from './fields.ts'

const REFUSALS = [...PROOF_REFUSALS, 'ACCOUNTS_UNWRITABLE'] as const

const SETUP = {
  summary: 'Set up a second factor: the secret for an app',
  details:
    'Nothing changes before `confirm`, within ten minutes, in the same session and before another password. To replace a second factor, send a code of it too.',
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

/** The second factor of the user of a session. The guard of each route has found the session. */
export const ownSecondFactorEndpoints = (factors: Readonly<Record<LoginType, OwnSecondFactor | null>>) =>
  ({
    'account/second-factor/setup': type => {
      const own = required(factors[type])
      return answering(SETUP, request => own.setUp(request.session!, request.body, originOf(request)))
    },
    'account/second-factor/confirm': type => {
      const own = required(factors[type])
      return answering(CONFIRM, async request => ({
        recovery_codes: [...(await own.confirm(request.session!, request.body.code, originOf(request)))],
      }))
    },
    'account/second-factor/recovery-codes': type => {
      const own = required(factors[type])
      return answering(RENEW, async request => ({
        recovery_codes: [...(await own.renewRecoveryCodes(request.session!, request.body, originOf(request)))],
      }))
    },
    'account/second-factor/remove': type => {
      const own = required(factors[type])
      return answering(REMOVE, async request => {
        await own.remove(request.session!, request.body, originOf(request))
        return null
      })
    },
  }) satisfies Partial<Endpoints>
