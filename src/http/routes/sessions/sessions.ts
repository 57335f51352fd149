import type { FastifyInstance } from 'fastify'
import { ADMINISTRATION_ROUTES } from '../../../config/own-routes.ts'
import { LOGIN_TYPES, SIDES } from '../../../session.ts'
import { disable, disabled, disabledPage, untieDisable } from './disable.ts'
import { exit, exitToken } from './end.ts'
import { page, tokens } from './online-users.ts'
import { analysis, chart } from './overview.ts'
import type { SessionRoute, SessionRoutesOptions } from './route.ts'

export { PERMISSIONS as SESSION_PERMISSIONS, type SessionRoutesOptions } from './route.ts'

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
  'disabled-page': disabledPage,
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
  }
}
