import { originOf } from '../../server/origin.ts'
import { type Contract, NOTHING, SECONDS, USER_ID } from '../contract.ts'
import { DISABLE, sessionRoute } from './route.ts'

const USER = '1923410000000000001'

const DISABLE_USER = {
  summary: 'Disable a login id for a time',
  details:
    'A disabled id is refused at login, and on every request where `disable.enforce` is `request`. Its sessions do not end: `exit` ends them. A later call replaces the time.',
  body: {
    schema: { type: 'object', properties: { user_id: USER_ID, seconds: SECONDS }, required: ['user_id', 'seconds'] },
    example: { user_id: USER, seconds: 3600 },
  },
  data: NOTHING,
} as const satisfies Contract

export const disable = sessionRoute(DISABLE, DISABLE_USER, async (request, type, { administration }) => {
  const { user_id, seconds } = request.body
  await administration.disable(type, user_id, seconds, originOf(request))
  return null
})

const UNTIE_DISABLE = {
  summary: 'Enable a login id again',
  details: 'Also ends the lock after failed logins of this id. Nothing happens where the id is not disabled.',
  body: {
    schema: { type: 'object', properties: { user_id: USER_ID }, required: ['user_id'] },
    example: { user_id: USER },
  },
  data: NOTHING,
} as const satisfies Contract

export const untieDisable = sessionRoute(DISABLE, UNTIE_DISABLE, async (request, type, { administration }) => {
  await administration.untieDisable(type, request.body.user_id, originOf(request))
  return null
})

const DISABLED = {
  summary: 'Whether a login id is disabled, and for how long',
  query: { type: 'object', properties: { user_id: USER_ID }, required: ['user_id'] },
  data: {
    schema: {
      type: 'object',
      properties: {
        is_disable: { type: 'boolean', description: 'Whether the login id is disabled.' },
        disable_time: { type: 'integer', description: 'For how many seconds more; -1 when it is not disabled.' },
      },
      required: ['is_disable', 'disable_time'],
    },
    example: { is_disable: true, disable_time: 3541 },
  },
} as const satisfies Contract

export const disabled = sessionRoute(DISABLE, DISABLED, ({ query }, type, { administration }) =>
  administration.disabled(type, query.user_id),
)
