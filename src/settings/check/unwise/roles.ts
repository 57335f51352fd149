import { SUPER_ADMIN } from '../../../session/record.ts'
import type { Written } from '../../notation/written.ts'
import type { RoleGrants } from '../../schema/permissions.ts'
import type { DecodedSettings } from '../../schema/settings.ts'

const MESSAGE =
  'is no role of the permissions file, and not SUPER_ADMIN: only accounts to which their source gives this role must have a second factor; check its spelling'

/** Warns of roles of `login.second_factor.for` that are probably mistyped: an account that is meant would need its password alone. */
export function warnOfUnknownRoles(settings: DecodedSettings, roles: RoleGrants, written: Written): void {
  const path = ['login', 'second_factor', 'for']
  if (written.isFaulty(path)) return
  const demanded = settings.login.second_factor.for
  if (typeof demanded === 'string') return
  for (const [index, role] of demanded.entries()) {
    if (role !== SUPER_ADMIN && !Object.hasOwn(roles, role)) written.warn([...path, index], MESSAGE)
  }
}
