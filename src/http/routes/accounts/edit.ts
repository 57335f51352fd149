import { NOTHING, SAMPLE_USER } from '../common-fields.ts'
import type { Contract } from '../contract.ts'
import { CHANGE_REFUSALS, CHANGEABLE, ID, MADE_PASSWORD, PASSWORD } from './fields.ts'
import { accountRoute, EDIT_ACCOUNTS, requestedBy } from './route.ts'

const ADD = {
  summary: 'Add an account',
  details:
    'Administrators grant only what they hold: who holds `orders:*` may grant `orders:read`. A service account has no password: it is for programs, and cannot sign in.',
  body: {
    schema: {
      type: 'object',
      properties: {
        username: { type: 'string', maxLength: 128, description: 'Name at the login; unique in any case.' },
        ...CHANGEABLE,
        ...PASSWORD,
        service: {
          type: ['boolean', 'null'],
          description: 'Whether it is a service account. Then `password` and `must_change_password` must be left out.',
        },
      },
      required: ['username'],
    },
    example: { username: 'ann', nickname: 'Ann', roles: ['operator'] },
  },
  data: {
    schema: { type: 'object', properties: { id: ID, password: MADE_PASSWORD }, required: ['id'] },
    example: { id: SAMPLE_USER, password: 'h7Kq9mWzTn4RvXcJ2pLbYd6e' },
  },
  refusals: ['RIGHTS_NOT_HELD', 'PASSWORD_NOT_ALLOWED', 'ACCOUNTS_UNWRITABLE'],
} as const satisfies Contract

export const add = accountRoute(EDIT_ACCOUNTS, ADD, (request, accounts) =>
  accounts.add(requestedBy(request), request.body),
)

const EDIT = {
  summary: 'Change an account',
  details:
    'Fields that are not given stay as they are. Where its status, roles or permissions change, the sessions of the account have ended when this answers. Administrators do not lock or demote themselves, and the last active SUPER_ADMIN who can sign in stays.',
  body: {
    schema: {
      type: 'object',
      properties: {
        id: ID,
        ...CHANGEABLE,
        revision: {
          type: ['string', 'null'],
          maxLength: 128,
          description: 'Of the account as it was read. If a field that is given has changed since, nothing is changed.',
        },
      },
      required: ['id'],
    },
    example: { id: SAMPLE_USER, status: 'LOCKED' },
  },
  data: NOTHING,
  refusals: [...CHANGE_REFUSALS, 'ACCOUNT_CHANGED'],
} as const satisfies Contract

export const edit = accountRoute(EDIT_ACCOUNTS, EDIT, async (request, accounts) => {
  await accounts.edit(requestedBy(request), request.body)
  return null
})

const REMOVE = {
  summary: 'Remove an account',
  details: 'Its sessions have ended when this answers.',
  body: { schema: { type: 'object', properties: { id: ID }, required: ['id'] }, example: { id: SAMPLE_USER } },
  data: NOTHING,
  refusals: CHANGE_REFUSALS,
} as const satisfies Contract

export const remove = accountRoute(EDIT_ACCOUNTS, REMOVE, async (request, accounts) => {
  await accounts.remove(requestedBy(request), request.body.id)
  return null
})
