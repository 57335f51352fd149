import { Refusal } from '../../../base/refusal.ts'
import { notLoggedIn } from '../../../session/end-reason.ts'
import { NOTHING, SAMPLE_USER, SECONDS, USER_ID } from '../common-fields.ts'
import { asRequest, OF_TOKEN, OF_USER, OF_USER_AND_TOKEN, one, operation, SAMPLE_TOKEN, TOKEN } from './operation.ts'

/* Operations that begin, prolong and end sessions. */

export const login = operation(
  {
    summary: 'A new token for a user',
    body: {
      schema: {
        type: 'object',
        properties: {
          user_id: USER_ID,
          extra: {
            type: ['object', 'null'],
            additionalProperties: true,
            description: 'Goes into the session’s record; at most 8 KiB as JSON. `session_seconds` in it is ignored.',
          },
          seconds: {
            ...SECONDS,
            type: ['integer', 'null'],
            description:
              'Lifetime of this session, for a device or a machine; `jwt.expire_seconds` unless given. A renewal by use gives ' +
              'the session this lifetime again. `idle_timeout` ends it earlier.',
          },
        },
        required: ['user_id'],
      },
      example: { user_id: SAMPLE_USER, extra: { nickname: 'Ann' } },
    },
    data: one('token', { type: 'string', description: 'The signed JWT.' }, SAMPLE_TOKEN),
    refusals: ['DISABLED', 'BUSY'],
  },
  async (side, { user_id, extra, seconds }, origin) => ({
    token: await side.login(undefined, user_id, extra ?? {}, { ...origin, seconds: seconds ?? undefined }),
  }),
)

export const logout = operation(
  { summary: 'End the session of a token', body: OF_TOKEN, data: NOTHING },
  async (side, { token }, origin) => {
    await side.logout(asRequest(side, token), undefined, origin)
    return null
  },
)

/** The logout of a profile that has one by login id, too. */
export const logoutOfUser = operation(
  {
    summary: 'End the session of a token, or every session of a user',
    body: {
      schema: {
        type: 'object',
        properties: {
          token: { ...TOKEN, type: ['string', 'null'] },
          user_id: { ...USER_ID, type: ['string', 'null'] },
        },
        anyOf: [
          { required: ['token'], properties: { token: { type: 'string' } } },
          { required: ['user_id'], properties: { user_id: { type: 'string' } } },
        ],
      },
      example: { token: SAMPLE_TOKEN },
    },
    data: NOTHING,
  },
  async (side, { token, user_id }, origin) => {
    if (typeof user_id === 'string') await side.kickout(user_id, origin)
    else await side.logout(asRequest(side, token ?? ''), undefined, origin)
    return null
  },
)

export const kickout = operation(
  { summary: 'End every session of a user', body: OF_USER, data: NOTHING },
  async (side, { user_id }, origin) => {
    await side.kickout(user_id, origin)
    return null
  },
)

export const kickoutToken = operation(
  { summary: 'End one session of a user', body: OF_USER_AND_TOKEN, data: NOTHING, refusals: ['NO_SUCH_TOKEN'] },
  async (side, { user_id, token }, origin) => {
    if (await side.kickoutToken(user_id, token, origin)) return null
    throw new Refusal('NO_SUCH_TOKEN')
  },
)

export const renewTimeout = operation(
  {
    summary: 'A new lifetime for a token and its session',
    body: {
      schema: {
        type: 'object',
        properties: { token: TOKEN, seconds: { ...SECONDS, type: ['integer', 'null'] } },
        required: ['token'],
      },
      example: { token: SAMPLE_TOKEN, seconds: 3600 },
    },
    data: NOTHING,
    refusals: ['NOT_LOGGED_IN'],
  },
  async (side, { token, seconds }, origin) => {
    const request = asRequest(side, token)
    if (await side.renewTimeout(request, seconds ?? undefined, origin)) return null
    const read = side.getTokenValue(request)
    throw notLoggedIn(read === null ? null : await side.whyEnded?.(read))
  },
)
