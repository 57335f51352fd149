import { LOGIN_TYPES } from '../../../session/sides.ts'
import { SAMPLE_USER, USER_ID } from '../common-fields.ts'
import { asRequest, OF_TOKEN, OF_USER, one, operation, SAMPLE_TOKEN, TOKEN } from './operation.ts'

/* Operations that answer what is known of tokens, sessions and users. */

const LOGIN_ID = { type: 'string', description: 'Login id; empty when the token is not live.' } as const
const LIFETIME = { type: 'integer', description: 'Seconds; -1 for none.' } as const
const SIDE = { type: 'string', enum: LOGIN_TYPES, description: 'The side.' } as const

export const isLogin = operation(
  {
    summary: 'Whether a token is live',
    body: OF_TOKEN,
    data: one('is_login', { type: 'boolean', description: 'Whether the token is live.' }, true),
  },
  async (side, { token }) => ({ is_login: await side.isLogin(asRequest(side, token)) }),
)

export const getLoginId = operation(
  { summary: 'The user of a token', body: OF_TOKEN, data: one('user_id', LOGIN_ID, SAMPLE_USER) },
  async (side, { token }) => ({ user_id: await side.getLoginId(asRequest(side, token)) }),
)

export const getLoginIdByToken = operation(
  { summary: 'The user of a token', body: OF_TOKEN, data: one('user_id', LOGIN_ID, SAMPLE_USER) },
  async (side, { token }) => ({ user_id: await side.getLoginIdByToken(token) }),
)

export const getLoginIdDefaultNull = operation(
  {
    summary: 'The user of a token, or null',
    body: OF_TOKEN,
    data: one(
      'user_id',
      { type: ['string', 'null'], description: 'Login id; `null` when the token is not live.' },
      SAMPLE_USER,
    ),
  },
  async (side, { token }) => ({ user_id: await side.getLoginIdDefaultNull(asRequest(side, token)) }),
)

export const getTokenValue = operation(
  {
    summary: 'The token itself, without its scheme',
    body: OF_TOKEN,
    data: one(
      'token',
      { type: ['string', 'null'], description: 'The token; `null` when the text cannot be a token.' },
      SAMPLE_TOKEN,
    ),
  },
  async (side, { token }) => ({ token: side.getTokenValue(asRequest(side, token)) }),
)

export const getLoginType = operation(
  { summary: 'The login type of the side', data: one('login_type', SIDE, 'CONSUMER') },
  async side => ({ login_type: side.getLoginType() }),
)

const RECORD = {
  schema: {
    type: ['object', 'null'],
    properties: {
      user_id: USER_ID,
      type: SIDE,
      created_at: {
        type: 'string',
        description: 'The login, `YYYY-MM-DD HH:MM:SS` in the configured time zone.',
      },
      extra: { type: 'object', additionalProperties: true, description: 'The data that came with the login.' },
    },
    required: ['user_id', 'type', 'created_at', 'extra'],
  },
  example: { user_id: SAMPLE_USER, type: 'CONSUMER', created_at: '2026-05-16 09:12:44', extra: { nickname: 'Ann' } },
} as const

export const getTokenInfo = operation(
  { summary: 'The record of a token, or null', body: OF_TOKEN, data: RECORD },
  (side, { token }) => side.getTokenInfo(asRequest(side, token)),
)

export const getSession = operation(
  { summary: 'The record of a token, or null', body: OF_TOKEN, data: RECORD },
  (side, { token }) => side.getSession(asRequest(side, token)),
)

export const getExtra = operation(
  {
    summary: 'One value of a record’s extra, or null',
    body: {
      schema: {
        type: 'object',
        properties: { token: TOKEN, name: { type: 'string', description: 'Name of the value.' } },
        required: ['token', 'name'],
      },
      example: { token: SAMPLE_TOKEN, name: 'nickname' },
    },
    data: one('value', { description: 'The value that was stored.' }, 'Ann'),
  },
  async (side, { token, name }) => ({ value: await side.getExtra(asRequest(side, token), name) }),
)

export const getTokenTimeout = operation(
  { summary: 'How long a token lives', body: OF_TOKEN, data: one('timeout', LIFETIME, 2_588_400) },
  async (side, { token }) => ({ timeout: await side.getTokenTimeout(asRequest(side, token)) }),
)

export const getSessionTimeout = operation(
  { summary: 'How long a user’s session lives', body: OF_TOKEN, data: one('timeout', LIFETIME, 2_588_400) },
  async (side, { token }) => ({ timeout: await side.getSessionTimeout(asRequest(side, token)) }),
)

export const getTokenValueByLoginId = operation(
  {
    summary: 'The newest token of a user, or null',
    body: OF_USER,
    data: one('token', { type: ['string', 'null'], description: 'The token.' }, SAMPLE_TOKEN),
  },
  async (side, { user_id }) => ({ token: await side.getTokenValueByLoginId(user_id) }),
)

export const getTokenValuesByLoginId = operation(
  {
    summary: 'The live tokens of a user, the oldest first; of more than 10 000 the newest',
    body: OF_USER,
    data: one('tokens', { type: 'array', items: { type: 'string' }, description: 'Live tokens.' }, [SAMPLE_TOKEN]),
  },
  async (side, { user_id }) => ({ tokens: await side.getTokenValuesByLoginId(user_id) }),
)
