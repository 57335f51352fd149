import { NOTHING, SAMPLE_USER, SECONDS, USER_ID } from '../common-fields.ts'
import { OF_USER, one, operation } from './operation.ts'

/* Operations that disable login ids for a time. */

export const disable = operation(
  {
    summary: 'Disable a login id for a time',
    body: {
      schema: { type: 'object', properties: { user_id: USER_ID, seconds: SECONDS }, required: ['user_id', 'seconds'] },
      example: { user_id: SAMPLE_USER, seconds: 3600 },
    },
    data: NOTHING,
  },
  async (side, { user_id, seconds }, origin) => {
    await side.disable(user_id, seconds, origin)
    return null
  },
)

export const isDisable = operation(
  {
    summary: 'Whether a login id is disabled',
    body: OF_USER,
    data: one('is_disable', { type: 'boolean', description: 'Whether the login id is disabled.' }, false),
  },
  async (side, { user_id }) => ({ is_disable: await side.isDisable(user_id) }),
)

export const untieDisable = operation(
  { summary: 'Enable a login id again', body: OF_USER, data: NOTHING },
  async (side, { user_id }, origin) => {
    await side.untieDisable(user_id, origin)
    return null
  },
)

export const checkDisable = operation(
  { summary: 'Fails with 403 while the login id is disabled', body: OF_USER, data: NOTHING, refusals: ['DISABLED'] },
  async (side, { user_id }) => {
    await side.checkDisable(user_id)
    return null
  },
)

export const getDisableTime = operation(
  {
    summary: 'How long a login id stays disabled',
    body: OF_USER,
    data: one('disable_time', { type: 'integer', description: 'Seconds; -1 when it is not disabled.' }, 3541),
  },
  async (side, { user_id }) => ({ disable_time: await side.getDisableTime(user_id) }),
)
