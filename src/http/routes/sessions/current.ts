import type { Permissions } from '../../../account/permissions.ts'
import { Complete, SAMPLE_USER, USER_ID } from '../common-fields.ts'
import type { Contract } from '../contract.ts'
import { answering, type Endpoint } from '../own-routes.ts'
import { END, SEE } from './route.ts'

export interface CurrentOptions {
  permissions: Permissions
  /** The permission codes of the administration, as far as it is served. */
  codes: readonly string[]
}

const CURRENT = {
  summary: 'The client’s own session',
  details: 'For pages that show only what their user is permitted to do.',
  data: {
    schema: Complete({
      user_id: USER_ID,
      username: { type: ['string', 'null'], description: 'Name at the login.' },
      nickname: { type: ['string', 'null'], description: 'Name to show.' },
      permissions: {
        type: 'array',
        items: { type: 'string' },
        description: 'The permission codes of the administration, as far as it is served, that the session holds.',
      },
    }),
    example: { user_id: SAMPLE_USER, username: 'ann', nickname: 'Ann', permissions: [SEE, END] },
  },
} as const satisfies Contract

/** The session of an administrator, where any administration is served. */
export const currentEndpoint =
  ({ permissions, codes }: CurrentOptions): Endpoint =>
  () =>
    answering(CURRENT, async ({ session }) => {
      const { record } = session!
      const holder = await permissions.holderOf(record)
      const { username, nickname } = record.extra
      return {
        user_id: record.user_id,
        username: typeof username === 'string' ? username : null,
        nickname: typeof nickname === 'string' ? nickname : null,
        permissions: codes.filter(code => permissions.allows(holder, [code], 'all')),
      }
    })
