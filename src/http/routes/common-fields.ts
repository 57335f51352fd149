import { END_REASONS } from '../../session/end-reason.ts'
import { LOGIN_ID_PATTERN } from '../../session/record.ts'
import { MAX_SECONDS } from '../../side/input.ts'
import type { FieldSchema } from '../server/validation.ts'
import type { JsonSchema, Place } from './contract.ts'

/* What the contracts of several routes have in common. */

/** An object that always has all of these properties. */
export const Complete = <const P extends JsonSchema>(properties: P) =>
  ({ type: 'object', properties, required: Object.keys(properties) as (keyof P & string)[] }) as const

/** A page of a list. `what` names the items in the texts. */
export const PageOf = <const R extends JsonSchema>(what: string, records: R) =>
  Complete({
    records,
    total: { type: 'integer', description: `${what} that were found.` },
    page: { type: 'integer', description: 'The number of this page.' },
    size: { type: 'integer', description: `${what} on a page.` },
    pages: { type: 'integer', description: 'Pages.' },
  })

/** In examples. */
export const SAMPLE_USER = '1923410000000000001'

export const USER_ID = {
  type: 'string',
  pattern: LOGIN_ID_PATTERN,
  description: 'Login id of the user.',
} as const satisfies FieldSchema

export const SECONDS = {
  type: 'integer',
  minimum: 1,
  maximum: MAX_SECONDS,
  description: 'Seconds.',
} as const satisfies FieldSchema

/** What a 401 says with `sessions.tell_end`. */
export const ENDED = `With \`sessions.tell_end\`, the \`data\` of a 401 is \`{"ended": …}\` if its token was ended: ${END_REASONS.join(', ')}.`

/** For routes that only confirm. */
export const NOTHING = { schema: { type: 'null' }, example: null } as const

export const PROBE = { group: 'probes', side: null, needs: 'nothing' } as const satisfies Place
