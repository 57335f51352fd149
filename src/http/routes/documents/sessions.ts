import type { LoginType } from '../../../session.ts'
import type { Description, Parameter } from '../../pages/description.ts'
import { type JsonSchema, list, NOTHING, nullable, object, text, whole, yesOrNo } from '../../pages/json-schema.ts'
import type { Failure } from '../../server/messages.ts'
import { END, type MAY, PREVENT, SEE } from '../sessions-permissions.ts'

export type SessionRoute =
  | 'analysis'
  | 'chart-data'
  | 'page'
  | 'tokens'
  | 'exit'
  | 'exit-token'
  | 'disable'
  | 'untie-disable'
  | 'disabled'

const USER_ID = text('Login id of the user.', { pattern: '^[A-Za-z0-9._@:-]{1,128}$' })
const SECONDS = whole('For how long, in seconds.', { minimum: 1, maximum: 315_360_000 })
const timestamp = (description: string): JsonSchema =>
  text(`${description} \`YYYY-MM-DD HH:MM:SS\` in the configured time zone.`)
const USER = '1923410000000000001'

const Analysis = object({
  total_count: whole('Live tokens of both sides.'),
  max_token_count: whole('The most live tokens that any one user of either side has.'),
  one_hour_newly_added: whole('Logins of the last hour on both sides.'),
  proportion_of_b_and_c: text('Live tokens as `<B>/<C>`.'),
  online_user_count: whole('Users of this side with a live token.'),
  today_login_count: whole('Logins of this side today, in the configured time zone.'),
})

const OnlineUser = object({
  user_id: USER_ID,
  username: nullable(text('Name that the user signs in with.')),
  nickname: nullable(text('Name that is shown.')),
  avatar: nullable(text('Picture.')),
  status: nullable(text('Status of the account at its last login.')),
  last_login_ip: nullable(text('Address of the last login.')),
  last_login_address: nullable(text('Place of the last login, where the account source tells it.')),
  last_login_time: timestamp('The last login.'),
  session_create_time: timestamp('The oldest login that is still live.'),
  session_timeout: text('How long the session lives, in words.'),
  session_timeout_seconds: whole('How long the session lives, in seconds; -1 when it has no end.'),
  token_count: whole('Live tokens.'),
})

const Page = object({
  records: list(OnlineUser, 'Online users, the newest login first.'),
  total: whole('Users that were found.'),
  page: whole('The number of this page.'),
  size: whole('Users on a page.'),
  pages: whole('Pages.'),
})

const UserToken = object({
  token: text('The token, for who holds `sys:session:token`; a handle that is worth nothing as a token for others.'),
  created_at: timestamp('The login.'),
  timeout: text('How long it lives, in words.'),
  timeout_seconds: whole('How long it lives, in seconds; -1 when it has no end.'),
  device_type: nullable(text('Program that signed in.')),
  device_id: nullable(text('Id that the program gave itself.')),
})

const Chart = object({
  bar_chart: object({
    days: list(text('A date.'), 'Seven days, today last.'),
    series: list(
      object({ name: text('The side.'), data: list(whole('Logins.'), 'One number for each day.') }),
      'Logins per day of both sides.',
    ),
  }),
  pie_chart: object({
    data: list(object({ category: text('The side.'), total: whole('Live tokens.') }), 'Live tokens of both sides.'),
  }),
})

const Bar = object({
  is_disable: yesOrNo('Whether the login id is disabled.'),
  disable_time: whole('For how many seconds more; -1 when it is not disabled.'),
})

const USER_QUERY: Parameter = {
  name: 'user_id',
  description: 'Login id of the user.',
  schema: { type: 'string', pattern: '^[A-Za-z0-9._@:-]{1,128}$' },
  required: true,
}

const PAGE_QUERY: readonly Parameter[] = [
  {
    name: 'current',
    description: 'Number of the page; `page` means the same.',
    schema: { type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 },
  },
  { name: 'size', description: 'Users on a page.', schema: { type: 'integer', minimum: 1, maximum: 100, default: 10 } },
  {
    name: 'keyword',
    description:
      'A user id exactly, or a part of a username or nickname in any case. Finds up to 1000 users; `total` is 1000 where there are more.',
    schema: { type: 'string', maxLength: 128 },
  },
]

type Enveloped = Extract<Description, { refusals: unknown }>

type Said = Pick<Enveloped, 'summary' | 'data'> &
  Partial<Pick<Enveloped, 'details' | 'query' | 'body'>> & { permission: (typeof MAY)[number]; refusals?: Failure[] }

const nothing = { schema: NOTHING, example: null }
const ofUser = { schema: object({ user_id: USER_ID }), example: { user_id: USER } }

const SAID: Readonly<Record<SessionRoute, (type: LoginType) => Said>> = {
  analysis: () => ({
    summary: 'How many are online',
    permission: SEE,
    data: {
      schema: Analysis,
      example: {
        total_count: 12,
        max_token_count: 3,
        one_hour_newly_added: 2,
        proportion_of_b_and_c: '4/8',
        online_user_count: 3,
        today_login_count: 5,
      },
    },
  }),
  'chart-data': type => ({
    summary: 'Logins of seven days, and live tokens by side',
    permission: SEE,
    data: {
      schema: Chart,
      example: {
        bar_chart: {
          days: ['2026-05-10', '2026-05-11', '2026-05-12', '2026-05-13', '2026-05-14', '2026-05-15', '2026-05-16'],
          series: [{ name: type, data: [3, 0, 4, 2, 7, 5, 1] }],
        },
        pie_chart: { data: [{ category: type, total: 12 }] },
      },
    },
  }),
  page: () => ({
    summary: 'Online users, page by page',
    permission: SEE,
    query: PAGE_QUERY,
    data: { schema: Page, example: { records: [USER_EXAMPLE], total: 1, page: 1, size: 10, pages: 1 } },
    refusals: ['INVALID'],
  }),
  tokens: () => ({
    summary: 'The live tokens of a user, the newest first, up to 1000',
    permission: SEE,
    query: [USER_QUERY],
    data: {
      schema: list(UserToken, 'Live tokens.'),
      example: [
        {
          token: '6Zb1xw0cS2mPq1c9oV4y7g',
          created_at: '2026-05-16 09:12:44',
          timeout: '29 days 23 hours left',
          timeout_seconds: 2_588_400,
          device_type: 'Chrome',
          device_id: 'WEB_PC',
        },
      ],
    },
    refusals: ['INVALID'],
  }),
  exit: () => ({
    summary: 'End every session of a user',
    permission: END,
    body: ofUser,
    data: nothing,
    refusals: ['INVALID'],
  }),
  'exit-token': () => ({
    summary: 'End one session of a user',
    permission: END,
    body: {
      schema: object({ user_id: USER_ID, token: text('The token, or its handle, as `tokens` answers it.') }),
      example: { user_id: USER, token: '6Zb1xw0cS2mPq1c9oV4y7g' },
    },
    data: nothing,
    refusals: ['INVALID', 'NO_SUCH_TOKEN'],
  }),
  disable: () => ({
    summary: 'Bar a login id for a time',
    details:
      'A disabled id is refused at login, and on every request where `disable.enforce` is `request`. Sessions that it has do not end by it: `exit` ends them. A later call replaces the time.',
    permission: PREVENT,
    body: { schema: object({ user_id: USER_ID, seconds: SECONDS }), example: { user_id: USER, seconds: 3600 } },
    data: nothing,
    refusals: ['INVALID'],
  }),
  'untie-disable': () => ({
    summary: 'Let a login id in again',
    details: 'Also ends the lock that failed logins of this id led to. Nothing happens where the id is not disabled.',
    permission: PREVENT,
    body: ofUser,
    data: nothing,
    refusals: ['INVALID'],
  }),
  disabled: () => ({
    summary: 'Whether a login id is disabled, and for how long',
    permission: PREVENT,
    query: [USER_QUERY],
    data: { schema: Bar, example: { is_disable: true, disable_time: 3541 } },
    refusals: ['INVALID'],
  }),
}

const USER_EXAMPLE = {
  user_id: USER,
  username: 'ann',
  nickname: 'Ann',
  avatar: null,
  status: 'ACTIVE',
  last_login_ip: '203.0.113.7',
  last_login_address: null,
  last_login_time: '2026-05-16 09:12:44',
  session_create_time: '2026-05-14 18:03:10',
  session_timeout: '29 days 23 hours left',
  session_timeout_seconds: 2_588_400,
  token_count: 2,
}

/** What is said of a route of the session administration of one side. */
export function describeSessionRoute(route: SessionRoute, type: LoginType): Description {
  const { refusals = [], ...said } = SAID[route](type)
  return {
    group: 'administration',
    side: type,
    needs: 'BUSINESS',
    ...said,
    refusals: ['NOT_LOGGED_IN', 'NOT_PERMITTED', ...refusals],
  }
}

export const describeCurrent: Description = {
  group: 'administration',
  side: 'BUSINESS',
  summary: 'The client’s own session',
  details: 'For pages that show only what their user may do.',
  needs: 'BUSINESS',
  data: {
    schema: object({
      user_id: USER_ID,
      username: nullable(text('Name that the user signs in with.')),
      nickname: nullable(text('Name that is shown.')),
      permissions: list(text('A permission code.'), 'Those of the session administration that the session holds.'),
    }),
    example: { user_id: USER, username: 'ann', nickname: 'Ann', permissions: [SEE, END] },
  },
  refusals: ['NOT_LOGGED_IN'],
}
