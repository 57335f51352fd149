import type { KeyPath } from '../notation/written.ts'
import type { DecodedSettings } from '../schema/settings.ts'
import { accountsOf } from '../served.ts'

/** The settings of a source of accounts; `off` for a side whose login is served elsewhere. */
export type AccountSection = ReturnType<typeof accountsOf>

interface Place {
  path: KeyPath
  read(settings: Pick<DecodedSettings, 'accounts' | 'login'>): AccountSection
}

/** Where the source of each side is written. */
export const ACCOUNT_SECTIONS: readonly Place[] = [
  { path: ['accounts'], read: settings => accountsOf(settings, 'BUSINESS') },
  { path: ['login', 'consumer'], read: settings => accountsOf(settings, 'CONSUMER') },
]
