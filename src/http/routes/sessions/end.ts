import { originOf } from '../../server/origin.ts'
import { NOTHING, SAMPLE_USER, USER_ID } from '../common-fields.ts'
import type { Contract } from '../contract.ts'
import { END, sessionRoute } from './route.ts'

const EXIT = {
  summary: 'End every session of a user',
  body: {
    schema: { type: 'object', properties: { user_id: USER_ID }, required: ['user_id'] },
    example: { user_id: SAMPLE_USER },
  },
  data: NOTHING,
} as const satisfies Contract

export const exit = sessionRoute(END, EXIT, async (request, type, { administration }) => {
  await administration.exit(type, request.body.user_id, originOf(request))
  return null
})

const EXIT_TOKEN = {
  summary: 'End one session of a user',
  body: {
    schema: {
      type: 'object',
      properties: {
        user_id: USER_ID,
        token: { type: 'string', minLength: 1, description: 'The token, or its handle, as `tokens` answers it.' },
      },
      required: ['user_id', 'token'],
    },
    example: { user_id: SAMPLE_USER, token: '6Zb1xw0cS2mPq1c9oV4y7g' },
  },
  data: NOTHING,
  refusals: ['NO_SUCH_TOKEN'],
} as const satisfies Contract

export const exitToken = sessionRoute(END, EXIT_TOKEN, async (request, type, { administration }) => {
  const { user_id, token } = request.body
  await administration.exitToken(type, user_id, token, originOf(request))
  return null
})
