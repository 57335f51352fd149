import type { FastifyInstance } from 'fastify'
import { ACCOUNT_ROUTES } from '../../../config/own-routes.ts'
import { LOGIN_TYPES, SIDES } from '../../../session.ts'
import { add, edit, remove } from './edit.ts'
import { detail, page, roles } from './pages.ts'
import { resetPassword, resetSecondFactor } from './reset.ts'
import type { AccountRoute, AccountRoutesOptions } from './route.ts'

export { ACCOUNT_PERMISSIONS, type AccountRoutesOptions } from './route.ts'

/** By the names that the list of the gateway's own routes has. */
const ROUTES: Readonly<Record<keyof typeof ACCOUNT_ROUTES, AccountRoute>> = {
  page,
  detail,
  roles,
  add,
  edit,
  'reset-password': resetPassword,
  'reset-second-factor': resetSecondFactor,
  remove,
}

/** The administration of accounts: below `sys/account/` for the B side, `client/account/` for the C side. */
export function serveAccounts(app: FastifyInstance, { versions, accounts, ...options }: AccountRoutesOptions): void {
  const names = Object.keys(ROUTES) as (keyof typeof ROUTES)[]
  for (const version of versions) {
    for (const type of LOGIN_TYPES) {
      const administered = accounts[type]
      if (administered === null) continue
      for (const name of names) {
        const path = `/api/v${version}/${SIDES[type].accounts}/${name}`
        ROUTES[name](app, { method: ACCOUNT_ROUTES[name], path, type, accounts: administered }, options)
      }
    }
  }
}
