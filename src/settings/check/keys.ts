import { DAY } from '../../base/clock.ts'
import { LOGIN_TYPES, SIDES } from '../../session/sides.ts'
import type { Report } from '../notation/written.ts'
import type { DecodedSettings } from '../schema/settings.ts'
import { keysOf, servesLogin } from '../served.ts'

/** Checks that the keys of a side have accounts here, and a lifetime that can be given in days. */
export function checkKeys(settings: DecodedSettings, report: Report): void {
  for (const type of LOGIN_TYPES) {
    const keys = keysOf(settings, type)
    if (keys === 'off') continue
    const path = ['keys', SIDES[type].name]
    if (!servesLogin(settings, type))
      report(
        path,
        'needs login.consumer: keys belong to accounts that the gateway knows; set it, or switch the keys off',
      )
    if (keys.max_age < DAY) report([...path, 'max_age'], 'must be 1d or more')
  }
}
