import type { Endpoints } from '../own-routes.ts'
import { add, edit, remove } from './edit.ts'
import { detail, page, roles } from './pages.ts'
import { resetPassword, resetSecondFactor } from './reset.ts'
import type { Administrations } from './route.ts'

export { ACCOUNT_PERMISSIONS, type Administrations } from './route.ts'

/** The administration of accounts. */
export const accountEndpoints = (administrations: Administrations) =>
  ({
    'accounts/page': page(administrations),
    'accounts/detail': detail(administrations),
    'accounts/roles': roles(administrations),
    'accounts/add': add(administrations),
    'accounts/edit': edit(administrations),
    'accounts/reset-password': resetPassword(administrations),
    'accounts/reset-second-factor': resetSecondFactor(administrations),
    'accounts/remove': remove(administrations),
  }) satisfies Partial<Endpoints>
