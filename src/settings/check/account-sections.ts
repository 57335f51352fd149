import type { KeyPath } from '../notation/written.ts'
import type { DecodedSettings } from '../schema/settings.ts'

type Settings = Pick<DecodedSettings, 'accounts' | 'login'>

/** The settings of a source of accounts; `off` for a side whose login is served elsewhere. */
export type AccountSection = Settings['accounts'] | Settings['login']['consumer']

interface Place {
  path: KeyPath
  read(settings: Settings): AccountSection
}

/** Where the source of each side is written. */
export const ACCOUNT_SECTIONS: readonly Place[] = [
  { path: ['accounts'], read: ({ accounts }) => accounts },
  { path: ['login', 'consumer'], read: ({ login }) => login.consumer },
]
