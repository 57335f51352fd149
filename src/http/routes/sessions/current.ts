import type { FastifyInstance } from 'fastify'
import type { Permissions } from '../../../account/permissions.ts'
import { SIDES } from '../../../session.ts'
import type { Envelopes } from '../../server/envelope.ts'
import type { Guards } from '../../server/guards.ts'
import { Complete, type Contract, serve, USER_ID } from '../contract.ts'
import { END, SEE } from './route.ts'

export interface CurrentRouteOptions {
  versions: readonly number[]
  guards: Guards
  permissions: Permissions
  /** The permission codes of the administration, as far as it is served. */
  codes: readonly string[]
  envelopes: Envelopes
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
    example: { user_id: '1923410000000000001', username: 'ann', nickname: 'Ann', permissions: [SEE, END] },
  },
} as const satisfies Contract

/** `GET /api/v<n>/sys/session/current`, where any administration is served. */
export function serveCurrent(
  app: FastifyInstance,
  { versions, guards, permissions, codes, envelopes }: CurrentRouteOptions,
): void {
  for (const version of versions) {
    serve(app, envelopes, {
      method: 'GET',
      path: `/api/v${version}/${SIDES.BUSINESS.administration}/current`,
      place: { group: 'administration', side: 'BUSINESS', needs: 'BUSINESS' },
      contract: CURRENT,
      onRequest: guards.requireLogin('BUSINESS'),
      async answer({ session }) {
        const { record } = session!
        const holder = await permissions.holderOf(record)
        const { username, nickname } = record.extra
        return {
          user_id: record.user_id,
          username: typeof username === 'string' ? username : null,
          nickname: typeof nickname === 'string' ? nickname : null,
          permissions: codes.filter(code => permissions.allows(holder, [code], 'all')),
        }
      },
    })
  }
}
