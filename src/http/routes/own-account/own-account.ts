import type { Permissions } from '../../../account/permissions.ts'
import type { OwnAccount } from '../../../login/own-account/own-account.ts'
import type { LoginType } from '../../../session/sides.ts'
import { originOf } from '../../server/origin.ts'
import { Complete, SAMPLE_USER, USER_ID } from '../common-fields.ts'
import type { Contract } from '../contract.ts'
import { answering, type Endpoints, required } from '../own-routes.ts'
import { CURRENT_PASSWORD, ENCRYPTED } from './fields.ts'

const TEXT = (description: string) => ({ type: ['string', 'null'], description }) as const

const OWN_ACCOUNT = Complete({
  user_id: USER_ID,
  username: TEXT('Account name.'),
  nickname: TEXT('Name to show.'),
  avatar: TEXT('Picture to show.'),
  roles: { type: ['array', 'null'], items: { type: 'string' }, description: 'Roles of the account.' },
  permissions: {
    type: ['array', 'null'],
    items: { type: 'string' },
    description: 'Permissions and patterns of the account, with those of its roles; `null` without an account here.',
  },
  second_factor: { type: ['boolean', 'null'], description: 'Whether the account has a second factor.' },
  second_factor_required: {
    type: ['boolean', 'null'],
    description: 'Whether the account must have one: it can be replaced, but not removed.',
  },
  recovery_codes_left: {
    type: ['integer', 'null'],
    description: 'How many recovery codes are left; `null` without a second factor.',
  },
  password_changed_at: TEXT('When the password was set.'),
  wrong_codes: {
    type: 'integer',
    description:
      'Wrong codes of the second factor that were entered since the login before that of this session. A client that enters codes knows the password: change it.',
  },
  can: {
    type: 'array',
    items: { enum: ['password', 'second-factor'] },
    description: 'What the user can change here now; nothing while the accounts file cannot be written.',
  },
})

const ACCOUNT = {
  summary: 'The own account',
  details: 'What the source of the accounts does not know is `null`.',
  data: {
    schema: OWN_ACCOUNT,
    example: {
      user_id: SAMPLE_USER,
      username: 'ann',
      nickname: 'Ann',
      avatar: null,
      roles: ['operator'],
      permissions: ['sys:session:page'],
      second_factor: false,
      second_factor_required: false,
      recovery_codes_left: null,
      password_changed_at: '2026-01-31 08:00:00',
      wrong_codes: 0,
      can: ['password', 'second-factor'],
    },
  },
} as const satisfies Contract

const PASSWORD = {
  summary: 'Change the own password',
  details:
    'Every other session of the user ends; the session of the request stays. A wrong current password is refused, counted and locked as at `login`. If the new password has faults, `data.faults` names all of them.',
  body: {
    schema: {
      type: 'object',
      properties: {
        current_password: CURRENT_PASSWORD,
        new_password: { type: 'string', description: 'The new password, encrypted in the same way.' },
      },
      required: ['current_password', 'new_password'],
    },
    example: { current_password: ENCRYPTED, new_password: `${'07be5d'.repeat(32)}…` },
  },
  data: {
    schema: {
      type: 'object',
      properties: { ended: { type: 'integer', minimum: 0, description: 'How many sessions have ended.' } },
      required: ['ended'],
    },
    example: { ended: 2 },
  },
  refusals: [
    'WRONG_CREDENTIALS',
    'PASSWORD_NOT_ALLOWED',
    'DISABLED',
    'TOO_MANY_ATTEMPTS',
    'BUSY',
    'ACCOUNTS_UNWRITABLE',
  ],
} as const satisfies Contract

/** The own account of the users of a side. */
export const ownAccountEndpoints = (
  accounts: Readonly<Record<LoginType, OwnAccount | null>>,
  { granted, rightsOf }: Pick<Permissions, 'granted' | 'rightsOf'>,
) =>
  ({
    account: type => {
      const { describe } = required(accounts[type])
      return answering(ACCOUNT, async ({ session }) => {
        const { rights, ...described } = await describe(session!)
        const held = rights && (await rightsOf({ id: described.user_id, extra: { ...rights } }, type))
        return { ...described, permissions: held && granted(held) }
      })
    },
    'account/password': type => {
      const changePassword = required(accounts[type]?.changePassword)
      return answering(PASSWORD, request => changePassword(request.session!, request.body, originOf(request)))
    },
  }) satisfies Partial<Endpoints>
