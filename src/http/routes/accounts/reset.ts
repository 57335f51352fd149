import { NOTHING, SAMPLE_USER } from '../common-fields.ts'
import type { Contract } from '../contract.ts'
import { CHANGE_REFUSALS, ID, MADE_PASSWORD, PASSWORD } from './fields.ts'
import { accountRoute, EDIT_ACCOUNTS, requestedBy } from './route.ts'

const NOT_FOR = 'Not for one’s own account, where the present one is needed, nor for a service account, which has none.'

const RESET_PASSWORD = {
  summary: 'Give an account another password',
  details: `The sessions of the account have ended when this answers. ${NOT_FOR}`,
  body: {
    schema: { type: 'object', properties: { id: ID, ...PASSWORD }, required: ['id'] },
    example: { id: SAMPLE_USER },
  },
  data: {
    schema: { type: 'object', properties: { password: MADE_PASSWORD } },
    example: { password: 'h7Kq9mWzTn4RvXcJ2pLbYd6e' },
  },
  refusals: [...CHANGE_REFUSALS, 'PASSWORD_NOT_ALLOWED'],
} as const satisfies Contract

export const resetPassword = accountRoute(EDIT_ACCOUNTS, RESET_PASSWORD, (request, accounts) =>
  accounts.resetPassword(requestedBy(request), request.body),
)

const RESET_SECOND_FACTOR = {
  summary: 'Remove the second factor of an account',
  details: `For a user who has lost it. The sessions of the account have ended when this answers. ${NOT_FOR}`,
  body: { schema: { type: 'object', properties: { id: ID }, required: ['id'] }, example: { id: SAMPLE_USER } },
  data: NOTHING,
  refusals: CHANGE_REFUSALS,
} as const satisfies Contract

export const resetSecondFactor = accountRoute(EDIT_ACCOUNTS, RESET_SECOND_FACTOR, async (request, accounts) => {
  await accounts.resetSecondFactor(requestedBy(request), request.body.id)
  return null
})
