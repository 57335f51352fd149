import type { Profile } from '../../../profile.ts'
import type { LoginType } from '../../../session.ts'
import type { OperationName } from '../../../side/operations.ts'
import type { Description } from '../../pages/description.ts'
import { type JsonSchema, list, NOTHING, nullable, object, text, whole, yesOrNo } from '../../pages/json-schema.ts'
import type { Failure } from '../../server/messages.ts'

const USER = '1923410000000000001'
const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJqdGkiOiI2WmIxIn0.c2ln'

const user_id = text('Login id of the user.', { pattern: '^[A-Za-z0-9._@:-]{1,128}$' })
const token = text('A token, with or without `Bearer `.')
const seconds = whole('Seconds.', { minimum: 1, maximum: 315_360_000 })
const extra: JsonSchema = {
  type: 'object',
  description: 'Goes into the session’s record; at most 8 KiB as JSON.',
  additionalProperties: true,
}

const Record = object({
  user_id,
  type: text('The side.', { enum: ['BUSINESS', 'CONSUMER'] }),
  created_at: text('The login, `YYYY-MM-DD HH:MM:SS` in the configured time zone.'),
  extra,
})

interface Said {
  summary: string
  body?: { schema: JsonSchema; example: unknown }
  data: { schema: JsonSchema; example: unknown }
  refusals?: Failure[]
}

const ofUser = { schema: object({ user_id }), example: { user_id: USER } }
const ofToken = { schema: object({ token }), example: { token: TOKEN } }
const nothing = { schema: NOTHING, example: null }
const one = (name: string, schema: JsonSchema, example: unknown) => ({
  schema: object({ [name]: schema }),
  example: { [name]: example },
})
const record = {
  schema: nullable(Record),
  example: { user_id: USER, type: 'CONSUMER', created_at: '2026-05-16 09:12:44', extra: { nickname: 'Ann' } },
}
const lifetime = one('timeout', whole('Seconds; -1 for none.'), 2_588_400)

const SAID: Readonly<Record<OperationName, Said>> = {
  login: {
    summary: 'A new token for a user',
    body: {
      schema: object({ user_id, extra }, { optional: ['extra'] }),
      example: { user_id: USER, extra: { nickname: 'Ann' } },
    },
    data: one('token', text('The signed JWT.'), TOKEN),
    refusals: ['DISABLED'],
  },
  logout: { summary: 'End the session of a token', body: ofToken, data: nothing },
  kickout: { summary: 'End every session of a user', body: ofUser, data: nothing },
  kickoutToken: {
    summary: 'End one session of a user',
    body: { schema: object({ user_id, token }), example: { user_id: USER, token: TOKEN } },
    data: nothing,
    refusals: ['NO_SUCH_TOKEN'],
  },
  isLogin: { summary: 'Whether a token is live', body: ofToken, data: one('is_login', yesOrNo('It is live.'), true) },
  getLoginId: {
    summary: 'Whose a token is',
    body: ofToken,
    data: one('user_id', text('Login id; empty when the token is not live.'), USER),
  },
  getLoginIdDefaultNull: {
    summary: 'Whose a token is, or null',
    body: ofToken,
    data: one('user_id', nullable(text('Login id; `null` when the token is not live.')), USER),
  },
  getLoginIdByToken: {
    summary: 'Whose a token is',
    body: ofToken,
    data: one('user_id', text('Login id; empty when the token is not live.'), USER),
  },
  getTokenValue: {
    summary: 'The token itself, without its scheme',
    body: ofToken,
    data: one('token', nullable(text('The token; `null` when the text is none.')), TOKEN),
  },
  renewTimeout: {
    summary: 'A new lifetime for a token and its session',
    body: { schema: object({ token, seconds }, { optional: ['seconds'] }), example: { token: TOKEN, seconds: 3600 } },
    data: nothing,
  },
  disable: {
    summary: 'Bar a login id for a time',
    body: { schema: object({ user_id, seconds }), example: { user_id: USER, seconds: 3600 } },
    data: nothing,
  },
  isDisable: {
    summary: 'Whether a login id is disabled',
    body: ofUser,
    data: one('is_disable', yesOrNo('It is disabled.'), false),
  },
  untieDisable: { summary: 'Let a login id in again', body: ofUser, data: nothing },
  getLoginType: {
    summary: 'The login type of the side',
    data: one('login_type', text('The side.', { enum: ['BUSINESS', 'CONSUMER'] }), 'CONSUMER'),
  },
  getTokenInfo: { summary: 'The record of a token, or null', body: ofToken, data: record },
  getSession: { summary: 'The record of a token, or null', body: ofToken, data: record },
  getExtra: {
    summary: 'One value of a record’s extra, or null',
    body: {
      schema: object({ token, name: text('Name of the value.') }),
      example: { token: TOKEN, name: 'nickname' },
    },
    data: one('value', { description: 'Whatever was stored.' }, 'Ann'),
  },
  getTokenTimeout: { summary: 'How long a token lives', body: ofToken, data: lifetime },
  getSessionTimeout: { summary: 'How long a user’s session lives', body: ofToken, data: lifetime },
  getTokenValueByLoginId: {
    summary: 'The newest token of a user, or null',
    body: ofUser,
    data: one('token', nullable(text('The token.')), TOKEN),
  },
  getTokenValuesByLoginId: {
    summary: 'The live tokens of a user, the oldest first; of more than 10 000 the newest',
    body: ofUser,
    data: one('tokens', list(text('A token.'), 'Live tokens.'), [TOKEN]),
  },
  checkDisable: {
    summary: 'Be refused while a login id is disabled',
    body: ofUser,
    data: nothing,
    refusals: ['DISABLED'],
  },
  getDisableTime: {
    summary: 'How long a login id stays disabled',
    body: ofUser,
    data: one('disable_time', whole('Seconds; -1 when it is not disabled.'), 3541),
  },
}

/** A logout by login id, where the profile has it. */
const LOGOUT_OF_USER: Partial<Said> = {
  summary: 'End the session of a token, or every session of a user',
  body: {
    schema: { anyOf: [object({ token }), object({ user_id })] },
    example: { token: TOKEN },
  },
}

export function describeOperation(name: OperationName, type: LoginType, profile: Profile): Description {
  const { refusals = [], ...said } = SAID[name]
  return {
    group: 'operations',
    side: type,
    needs: 'secret',
    ...said,
    ...(name === 'logout' && profile.extendedOperations && LOGOUT_OF_USER),
    refusals: ['NOT_LOGGED_IN', 'INVALID', ...refusals],
  }
}
