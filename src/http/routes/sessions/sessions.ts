import type { FastifyInstance } from 'fastify'
import { ADMINISTRATION_ROUTES } from '../../../config/own-routes.ts'
import { LOGIN_TYPES, SIDES } from '../../../session.ts'
import { type Contract, serve, USER_ID } from '../contract.ts'
import { disable, disabled, untieDisable } from './disable.ts'
import { exit, exitToken } from './end.ts'
import { page, tokens } from './online-users.ts'
import { analysis, chart } from './overview.ts'
import { END, PERMISSIONS, SEE, type SessionRoute, type SessionRoutesOptions } from './route.ts'

export type { SessionRoutesOptions }

/** By the names that the list of the gateway's own routes has. */
const ROUTES: Readonly<Record<keyof typeof ADMINISTRATION_ROUTES, SessionRoute>> = {
  analysis,
  'chart-data': chart,
  page,
  tokens,
  exit,
  'exit-token': exitToken,
  disable,
  'untie-disable': untieDisable,
  disabled,
}

/**
 * The endpoints of "Session administration", and ours beside them: below `sys/session/` for the B side, `client/session/`
 * for the C side.
 */
export function serveSessions(app: FastifyInstance, options: SessionRoutesOptions): void {
  const names = Object.keys(ROUTES) as (keyof typeof ROUTES)[]
  for (const version of options.versions) {
    for (const type of LOGIN_TYPES) {
      const base = `/api/v${version}/${SIDES[type].administration}`
      for (const name of names) {
        ROUTES[name](app, { method: ADMINISTRATION_ROUTES[name], path: `${base}/${name}`, type }, options)
      }
    }
    serveCurrent(app, `/api/v${version}/${SIDES.BUSINESS.administration}`, options)
  }
}

const CURRENT = {
  summary: 'The client’s own session',
  details: 'For pages that show only what their user is permitted to do.',
  data: {
    schema: {
      type: 'object',
      properties: {
        user_id: USER_ID,
        username: { type: ['string', 'null'], description: 'Name at the login.' },
        nickname: { type: ['string', 'null'], description: 'Name to show.' },
        permissions: {
          type: 'array',
          items: { type: 'string' },
          description: 'The permission codes of the administration, as far as it is served, that the session holds.',
        },
      },
      required: ['user_id', 'username', 'nickname', 'permissions'],
    },
    example: { user_id: '1923410000000000001', username: 'ann', nickname: 'Ann', permissions: [SEE, END] },
  },
} as const satisfies Contract

function serveCurrent(
  app: FastifyInstance,
  base: string,
  { guards, permissions, further, envelopes }: SessionRoutesOptions,
): void {
  serve(app, envelopes, {
    method: 'GET',
    path: `${base}/current`,
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
        permissions: [...PERMISSIONS, ...further].filter(code => permissions.allows(holder, [code], 'all')),
      }
    },
  })
}
