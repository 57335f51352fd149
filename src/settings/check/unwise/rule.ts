import type { KeyPath } from '../../notation/written.ts'

/** A valid value that gives up a protection. */
export interface Rule<T> {
  setting: KeyPath
  /** Whether the setting is unwise; of a list, which of its items are. */
  finds(settings: T, isProduction: boolean): boolean | number[]
  /** Contains no value of a setting: `/readyz` shows it without a secret. */
  message: string
}

export const SECOND = 1000
export const MINUTE = 60 * SECOND

export const indexesOf = <T>(list: readonly T[], isUnwise: (item: T) => boolean): number[] =>
  list.flatMap((item, index) => (isUnwise(item) ? [index] : []))

/** Of an origin whose pages may send requests here. */
export const UNENCRYPTED_PAGE =
  'allows pages that are sent unencrypted over a public network: who changes one on its way acts for its users; use https://'
