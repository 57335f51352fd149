import type { AccountKeys } from '../account/kept-keys.ts'
import { createPasswordPolicy } from '../account/password-policy.ts'
import type { Permissions } from '../account/permissions.ts'
import {
  type AccountAdministration,
  createAccountAdministration,
} from '../administration/accounts/account-administration.ts'
import { createPresentRights } from '../administration/accounts/actor.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import type { Publish } from '../event/event.ts'
import { isClaimedSession } from '../login/identity/claimed-session.ts'
import type { Logins } from '../login/open.ts'
import { bySide, type LoginType } from '../session/sides.ts'
import { servesAccounts } from '../settings/served.ts'
import type { Side } from '../side/side.ts'
import type { Store } from '../store/store.ts'
import type { Setup } from './setup.ts'

interface Parts {
  sides: Readonly<Record<LoginType, Side>>
  login: Pick<Logins, 'sources' | 'decrypt'>
  store: Pick<Store, 'sessions'>
  keys: Readonly<Record<LoginType, Pick<AccountKeys, 'endOthers'> | null>>
  permissions: Permissions
  timestamps: TimestampFormat
  publish: Publish
}

/** The account administration of each side; `null` where it is not served. */
export function createAccountAdministrations(
  { settings, profile, clock }: Setup,
  { sides, login, store, keys, permissions, ...parts }: Parts,
): Readonly<Record<LoginType, AccountAdministration | null>> {
  const policy = createPasswordPolicy(settings.passwords)
  return bySide(type => {
    const management = login.sources[type]?.management
    if (management === undefined || !servesAccounts(settings, profile, type)) return null
    return createAccountAdministration({
      ...parts,
      side: sides[type],
      management,
      sessions: store.sessions,
      keys: keys[type],
      presentRights: createPresentRights(type, login.sources.BUSINESS?.management, permissions, session =>
        isClaimedSession(settings, session),
      ),
      permissions,
      policy,
      decrypt: login.decrypt,
      clock,
    })
  })
}
