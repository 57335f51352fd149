import type { FastifyRequest } from 'fastify'
import type { Permissions } from '../../../account/permissions.ts'
import { Complete, PageOf, SAMPLE_USER, USER_ID } from '../common-fields.ts'
import type { Contract } from '../contract.ts'
import { SEE, SEE_TOKENS, sessionRoute } from './route.ts'

const OPTIONAL_TEXT = ['string', 'null'] as const

const ONLINE_USER = Complete({
  user_id: USER_ID,
  username: { type: OPTIONAL_TEXT, description: 'Name at the login.' },
  nickname: { type: OPTIONAL_TEXT, description: 'Name to show.' },
  avatar: { type: OPTIONAL_TEXT, description: 'Picture.' },
  status: { type: OPTIONAL_TEXT, description: 'Status of the account at its last login.' },
  last_login_ip: { type: OPTIONAL_TEXT, description: 'Address of the last login.' },
  last_login_address: {
    type: OPTIONAL_TEXT,
    description: 'Place of the last login, where the account source provides it.',
  },
  last_login_time: {
    type: 'string',
    description: 'The last login, `YYYY-MM-DD HH:MM:SS` in the configured time zone.',
  },
  session_create_time: {
    type: 'string',
    description: 'The oldest login that is still live, `YYYY-MM-DD HH:MM:SS` in the configured time zone.',
  },
  session_timeout: { type: 'string', description: 'How long the session lives, in words.' },
  session_timeout_seconds: {
    type: 'integer',
    description: 'How long the session lives, in seconds; -1 when it has no end.',
  },
  token_count: { type: 'integer', description: 'Live tokens.' },
})

const PAGE = {
  summary: 'Online users, page by page',
  query: {
    type: 'object',
    properties: {
      current: {
        type: 'integer',
        minimum: 1,
        maximum: 1_000_000,
        description: 'Number of the page; 1 when not given.',
      },
      page: { type: 'integer', minimum: 1, maximum: 1_000_000, description: 'Another name for `current`, which wins.' },
      size: { type: 'integer', minimum: 1, maximum: 100, default: 10, description: 'Users on a page.' },
      keyword: {
        type: 'string',
        maxLength: 128,
        default: '',
        description:
          'A user id exactly, or a part of a username or nickname in any case. Finds up to 1000 users; `total` is 1000 where there are more.',
      },
    },
  },
  data: {
    schema: PageOf('Users', {
      type: 'array',
      items: ONLINE_USER,
      description: 'Online users, the newest login first.',
    }),
    example: {
      records: [
        {
          user_id: SAMPLE_USER,
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
        },
      ],
      total: 1,
      page: 1,
      size: 10,
      pages: 1,
    },
  },
} as const satisfies Contract

export const page = sessionRoute(SEE, PAGE, ({ query }, type, { administration }) =>
  administration.page(type, {
    page: query.current ?? query.page ?? 1,
    size: query.size,
    keyword: query.keyword.trim(),
  }),
)

/** What every list of sessions shows of a session, beside its token or its handle. */
export const SESSION = {
  properties: {
    created_at: {
      type: 'string',
      description: 'The login, `YYYY-MM-DD HH:MM:SS` in the configured time zone.',
    },
    timeout: { type: 'string', description: 'How long the token lives, in words.' },
    timeout_seconds: {
      type: 'integer',
      description: 'How long the token lives, in seconds; -1 when it has no end.',
    },
    device_type: { type: OPTIONAL_TEXT, description: 'Program that signed in.' },
    device_id: { type: OPTIONAL_TEXT, description: 'The name that the program gave itself.' },
    login_ip: { type: OPTIONAL_TEXT, description: 'Address of the login.' },
    provider: {
      type: OPTIONAL_TEXT,
      description: 'The OpenID provider by which the user signed in; `null` for any other login.',
    },
  },
  required: ['created_at', 'timeout', 'timeout_seconds', 'device_type', 'device_id', 'login_ip', 'provider'],
  example: {
    created_at: '2026-05-16 09:12:44',
    timeout: '29 days 23 hours left',
    timeout_seconds: 2_588_400,
    device_type: 'Chrome',
    device_id: 'WEB_PC',
    login_ip: '203.0.113.7',
    provider: null,
  },
} as const

const TOKENS = {
  summary: 'The live tokens of a user, the newest first, up to 1000',
  query: { type: 'object', properties: { user_id: USER_ID }, required: ['user_id'] },
  data: {
    schema: {
      type: 'array',
      description: 'Live tokens.',
      items: {
        type: 'object',
        properties: {
          token: {
            type: 'string',
            description: `The token with the permission \`${SEE_TOKENS}\`; without it a handle, which is not valid as a token.`,
          },
          ...SESSION.properties,
        },
        required: ['token', ...SESSION.required],
      },
    },
    example: [{ token: '6Zb1xw0cS2mPq1c9oV4y7g', ...SESSION.example }],
  },
} as const satisfies Contract

export const tokens = sessionRoute(SEE, TOKENS, async (request, type, { administration, permissions }) => {
  const show = (await seesTokens(request, permissions)) ? 'token' : 'handle'
  return administration.tokens(type, request.query.user_id, show)
})

const seesTokens = async ({ session }: Pick<FastifyRequest, 'session'>, permissions: Permissions): Promise<boolean> =>
  session !== null && permissions.allows(await permissions.holderOf(session.record), [SEE_TOKENS], 'all')
