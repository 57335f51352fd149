import type { Permissions } from '../account/permissions.ts'
import type { Accounts } from '../account/source.ts'
import type { Clock } from '../base/clock.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import type { LoginType } from '../session/sides.ts'
import type { Store } from '../store/store.ts'
import type { Jwt } from '../token/jwt.ts'
import { createKeyAdministration, type KeyAdministration } from './administration.ts'
import { createGrant, type Grant } from './grant.ts'
import { createHolders } from './holders.ts'
import type { KeySettings, Keys } from './keys.ts'
import { createKeySessions, type KeySessions, type WrongKeys } from './lookup.ts'
import { createOwnKeys, type OwnKeys, type Prove } from './own-keys.ts'

/** All that is done with the keys of one side. */
export interface KeysOfSide {
  readonly sessions: KeySessions
  /** `null` where users make no keys of their own. */
  readonly own: OwnKeys | null
  readonly administration: KeyAdministration
  readonly grant: Grant
}

export interface OpenKeysOptions {
  type: LoginType
  settings: KeySettings
  keys: Keys
  accounts: Accounts
  /** How often the accounts' source is asked again about an owner, in milliseconds. */
  recheck: number
  store: Pick<Store, 'credentials' | 'sessions'>
  jwt: Jwt
  /** Proves the users of the side. */
  prove: Prove
  /** Proves administrators, who are users of the B side. */
  proveAdministrator: Prove
  wrongFrom(address: string): WrongKeys
  permissions: Permissions
  clock: Clock
  timestamps: TimestampFormat
}

export function openKeys(options: OpenKeysOptions): KeysOfSide {
  const { type, settings, keys, accounts, store, clock } = options
  const { credentials } = store
  const holderOf = createHolders(options)
  const sessions = createKeySessions({ ...options, credentials, sessions: store.sessions, holderOf })
  return {
    sessions,
    own: settings.users ? createOwnKeys(options) : null,
    administration: createKeyAdministration({
      type,
      keys,
      settings,
      accounts,
      management: accounts.management ?? null,
      prove: options.proveAdministrator,
      permissions: options.permissions,
    }),
    grant: createGrant({ type, jwt: options.jwt, credentials, sessions, clock }),
  }
}
