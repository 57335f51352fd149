import { ACCOUNT_STATUSES } from '../../../account/management.ts'
import { Complete, PageOf, SAMPLE_USER } from '../common-fields.ts'
import type { Contract } from '../contract.ts'
import { ID, STATUS_QUERY } from './fields.ts'
import { accountRoute, SEE_ACCOUNTS } from './route.ts'

const TEXTS = { type: 'array', items: { type: 'string' } } as const

const ACCOUNT = Complete({
  id: ID,
  username: { type: 'string', description: 'Name at the login.' },
  nickname: { type: 'string', description: 'Name to show.' },
  status: { type: 'string', enum: ACCOUNT_STATUSES, description: 'Only ACTIVE users sign in.' },
  service: { type: 'boolean', description: 'Whether it is a service account: it has no password and cannot sign in.' },
  roles: { ...TEXTS, description: 'Roles.' },
  permissions: { ...TEXTS, description: 'Permissions besides those of the roles.' },
  second_factor: { type: 'boolean', description: 'Whether the account has a second factor.' },
  must_change_password: { type: 'boolean', description: 'Whether the next login demands another password.' },
  password_changed_at: {
    type: ['string', 'null'],
    description: 'When the password was set, `YYYY-MM-DD HH:MM:SS` in the configured time zone; `null` if not known.',
  },
  last_login_time: {
    type: ['string', 'null'],
    description: 'The last login of a user who is online; `null` for others.',
  },
  editable: {
    type: 'boolean',
    description: 'Whether the client holds all that the account holds: changes of other accounts are refused.',
  },
  revision: {
    type: 'string',
    description: 'For `edit`, which then refuses to change what others have changed meanwhile.',
  },
})

const ANN = {
  id: SAMPLE_USER,
  username: 'ann',
  nickname: 'Ann',
  status: 'ACTIVE',
  service: false,
  roles: ['operator'],
  permissions: [],
  second_factor: true,
  must_change_password: false,
  password_changed_at: '2026-05-02 10:00:00',
  last_login_time: '2026-05-16 09:12:44',
  editable: true,
  revision: 'FyObbiUB.YwwvHA7h.ua4lAus5.T1PNoYwr',
}

const PAGE = {
  summary: 'Accounts, page by page',
  details: 'In the order of the accounts file. No answer contains anything of a password or of a second factor.',
  query: {
    type: 'object',
    properties: {
      current: { type: 'integer', minimum: 1, maximum: 1_000_000, default: 1, description: 'Number of the page.' },
      size: { type: 'integer', minimum: 1, maximum: 100, default: 10, description: 'Accounts on a page.' },
      keyword: {
        type: 'string',
        maxLength: 128,
        default: '',
        description: 'An id exactly, or a part of a username or nickname in any case.',
      },
      status: STATUS_QUERY,
    },
  },
  data: {
    schema: PageOf('Accounts', { type: 'array', items: ACCOUNT, description: 'Accounts.' }),
    example: { records: [ANN], total: 1, page: 1, size: 10, pages: 1 },
  },
} as const satisfies Contract

export const page = accountRoute(SEE_ACCOUNTS, PAGE, ({ query, session }, accounts) =>
  accounts.page(session!.record, {
    page: query.current,
    size: query.size,
    keyword: query.keyword.trim(),
    status: query.status ?? '',
  }),
)

const DETAIL = {
  summary: 'One account',
  query: { type: 'object', properties: { id: ID }, required: ['id'] },
  data: { schema: ACCOUNT, example: ANN },
  refusals: ['NO_SUCH_ACCOUNT'],
} as const satisfies Contract

export const detail = accountRoute(SEE_ACCOUNTS, DETAIL, ({ query, session }, accounts) =>
  accounts.detail(session!.record, query.id),
)

const ROLES = {
  summary: 'The roles that accounts can have',
  details:
    'SUPER_ADMIN, and the roles of the permissions file in its order. An account may have other roles: they grant nothing here, but backends receive them.',
  data: {
    schema: {
      type: 'array',
      items: Complete({
        name: { type: 'string', description: 'The role.' },
        permissions: { ...TEXTS, description: 'What it grants.' },
        grantable: { type: 'boolean', description: 'Whether the client holds the role, and so may grant it.' },
      }),
    },
    example: [
      { name: 'SUPER_ADMIN', permissions: ['**'], grantable: false },
      { name: 'operator', permissions: ['sys:session:page'], grantable: true },
    ],
  },
} as const satisfies Contract

export const roles = accountRoute(SEE_ACCOUNTS, ROLES, ({ session }, accounts) => accounts.roles(session!.record))
