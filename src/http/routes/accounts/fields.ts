import { ACCOUNT_STATUSES } from '../../../account/management.ts'
import type { Failure } from '../../server/failure-texts.ts'
import type { FieldSchema } from '../../server/validation.ts'
import { USER_ID } from '../common-fields.ts'

export const ID = { ...USER_ID, description: 'Login id of the account.' } as const

export const STATUS = {
  type: ['string', 'null'],
  enum: [...ACCOUNT_STATUSES, null],
  description: 'Only users of an ACTIVE account sign in.',
} as const satisfies FieldSchema

export const STATUS_QUERY = {
  type: 'string',
  enum: ACCOUNT_STATUSES,
  description: 'Accounts with this status only.',
} as const satisfies FieldSchema

const TEXTS = {
  type: ['array', 'null'],
  items: { type: 'string', minLength: 1, maxLength: 128 },
  maxItems: 256,
} as const

/** What administrators change of an account. */
export const CHANGEABLE = {
  nickname: { type: ['string', 'null'], maxLength: 128, description: 'Name to show.' },
  roles: { ...TEXTS, description: 'Roles that the administrator holds.' },
  permissions: { ...TEXTS, description: 'Permissions that the administrator holds.' },
  status: STATUS,
} as const satisfies Readonly<Record<string, FieldSchema>>

/** A new password. */
export const PASSWORD = {
  password: {
    type: ['string', 'null'],
    description: 'The new password, encrypted as at login; without it one is made, and this answer alone shows it.',
  },
  must_change_password: {
    type: ['boolean', 'null'],
    description: 'Whether the next login demands another password; `true` when not given.',
  },
} as const satisfies Readonly<Record<string, FieldSchema>>

/** The refusals of every change. */
export const CHANGE_REFUSALS = [
  'NO_SUCH_ACCOUNT',
  'ACCOUNT_HOLDS_MORE',
  'RIGHTS_NOT_HELD',
  'OWN_ACCOUNT',
  'LAST_SUPER_ADMIN',
  'ACCOUNTS_UNWRITABLE',
] as const satisfies readonly Failure[]

export const MADE_PASSWORD = {
  type: 'string',
  description: 'The password, if it was made here.',
} as const
