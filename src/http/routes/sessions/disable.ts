import { LOGIN_TYPES } from '../../../session/sides.ts'
import { originOf } from '../../server/origin.ts'
import { Complete, NOTHING, PageOf, SAMPLE_USER, SECONDS, USER_ID } from '../common-fields.ts'
import type { Contract } from '../contract.ts'
import { DISABLE, sessionRoute } from './route.ts'

const DISABLE_USER = {
  summary: 'Disable a login id for a time',
  details:
    'A disabled id is refused at login, and on every request where `disable.enforce` is `request`. Its sessions do not end: `exit` ends them. A later call replaces the time.',
  body: {
    schema: { type: 'object', properties: { user_id: USER_ID, seconds: SECONDS }, required: ['user_id', 'seconds'] },
    example: { user_id: SAMPLE_USER, seconds: 3600 },
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
    example: { user_id: SAMPLE_USER },
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

const DISABLED_ID = Complete({
  user_id: USER_ID,
  type: { type: 'string', enum: LOGIN_TYPES, description: 'The side.' },
  until: {
    type: ['string', 'null'],
    description: 'Until when, `YYYY-MM-DD HH:MM:SS` in the configured time zone; `null` when it has no end.',
  },
  disable_time: { type: ['integer', 'null'], description: 'For how many seconds more; `null` when it has no end.' },
})

const DISABLED_PAGE = {
  summary: 'The disabled login ids of the side, page by page',
  details:
    'Those first that are enabled next, online or not. A lock after failed logins is no disable and is not listed: `disabled` answers for it, too. The journal has who disabled an id. One that another program has disabled appears within minutes.',
  query: {
    type: 'object',
    properties: {
      current: { type: 'integer', minimum: 1, maximum: 10_000, default: 1, description: 'Number of the page.' },
      size: { type: 'integer', minimum: 1, maximum: 100, default: 10, description: 'Login ids on a page.' },
    },
  },
  data: {
    schema: PageOf('Disabled login ids, up to 10 000,', {
      type: 'array',
      items: DISABLED_ID,
      description: 'Disabled login ids.',
    }),
    example: {
      records: [{ user_id: SAMPLE_USER, type: 'BUSINESS', until: '2026-05-16 10:12:44', disable_time: 3541 }],
      total: 1,
      page: 1,
      size: 10,
      pages: 1,
    },
  },
} as const satisfies Contract

export const disabledPage = sessionRoute(DISABLE, DISABLED_PAGE, ({ query }, type, { administration }) =>
  administration.disabledPage(type, { page: query.current, size: query.size }),
)
