import { LOGIN_ID_FORM } from '../../base/refusal.ts'
import type { Decoded } from '../../settings/notation/notation.ts'
import { ACCOUNT_STATUSES } from '../management.ts'

/* The accounts file. No message quotes anything of it: a password may stand in the wrong place. */

const Words = <const F extends string>(form: F) =>
  ({
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: 128, 'x-secret': true, 'x-form': 'text of 1 to 128 characters' },
    maxItems: 256,
    'x-secret': true,
    'x-form': form,
  }) as const

const Entry = {
  type: 'object',
  /** They go into the session as they are. */
  additionalProperties: true,
  properties: {
    id: {
      type: 'string',
      'x-secret': true,
      'x-form': `text in quotes, ${LOGIN_ID_FORM} (a bare number would be rounded)`,
    },
    username: {
      type: 'string',
      'x-secret': true,
      'x-form': 'text of 1 to 128 characters without spaces at its ends; a number needs quotes',
    },
    password: {
      type: 'string',
      'x-secret': true,
      'x-form': 'a bcrypt hash of cost 4 to 15 in quotes; `dualgate account passwd NAME` writes one',
    },
    nickname: { type: 'string', maxLength: 128, 'x-secret': true, 'x-form': 'text of at most 128 characters' },
    avatar: { type: 'string', maxLength: 2048, 'x-secret': true, 'x-form': 'text of at most 2048 characters' },
    status: { enum: ACCOUNT_STATUSES, 'x-secret': true },
    roles: Words('a list of roles, such as [SUPER_ADMIN]'),
    permissions: Words('a list of permissions, such as ["sys:session:page"]'),
    service: { type: 'boolean', 'x-secret': true, 'x-form': 'true or false' },
    added: { type: 'string', 'x-secret': true, 'x-form': 'a time such as 2026-01-31T08:00:00Z, in quotes' },
    must_change_password: { type: 'boolean', 'x-secret': true, 'x-form': 'true or false' },
    password_changed_at: {
      type: 'string',
      'x-secret': true,
      'x-form': 'a time such as 2026-01-31T08:00:00Z, in quotes',
    },
    second_factor: {
      type: 'string',
      pattern: '^[A-Za-z0-9_-]{12}[.][A-Za-z0-9_-]+$',
      maxLength: 4096,
      'x-secret': true,
      'x-form': 'as the gateway wrote it; without this line the account has no second factor',
    },
    second_factor_reset_at: {
      type: 'string',
      maxLength: 64,
      'x-secret': true,
      'x-form': 'a time such as 2026-01-31T08:00:00Z, in quotes',
    },
  },
  /** And a password, unless it is a service account (`document.ts`). */
  required: ['id', 'username'],
  'x-form': 'a section with id, username, password and further keys',
} as const

export const AccountsFileSchema = {
  type: 'object',
  additionalProperties: false,
  properties: { accounts: { type: 'array', items: Entry, default: [] } },
  'x-form': 'a section with one key, `accounts:`, and below it a list of accounts',
} as const

/** One account of the file, with its further keys. */
export type AccountEntry = Decoded<typeof Entry>
