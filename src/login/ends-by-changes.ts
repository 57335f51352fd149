import type { AccountChanges, Accounts } from '../account/source.ts'
import type { Logger } from '../base/log/log.ts'
import { bySide, type LoginType } from '../session/sides.ts'
import { AccountWatch } from './account-changes.ts'
import type { LoginSettings, OpenLoginOptions } from './login-options.ts'
import { countRechecks, createRecheck, type Recheck } from './recheck.ts'

/** What ends the sessions of accounts that change: the source reports it, or is asked again. */
export function createEndsByChanges(
  { settings, sides, store, clock, log, recheckOf, keys, meter }: OpenLoginOptions,
  sources: Readonly<Record<LoginType, Accounts | null>>,
) {
  const rechecked = countRechecks(meter)
  const watches = bySide((type): AccountWatch | null => {
    const changes = sources[type]?.changes
    if (changes === undefined) return null
    const known = (): void => warnOfUnused(type, changes, settings.second_factor, log)
    return new AccountWatch({ side: sides[type], changes, online: store.online, keys: keys[type], log, known })
  })
  const rechecks = bySide((type): Recheck | null => {
    const [accounts, interval] = [sources[type], recheckOf(type)]
    if (accounts === null || accounts.changes !== undefined || interval === 'off') return null
    return createRecheck({ side: sides[type], accounts, interval, clock, log, rechecked })
  })
  return {
    rechecks,
    async close(): Promise<void> {
      await Promise.all([...Object.values(watches), ...Object.values(rechecks)].map(part => part?.close()))
    },
  }
}

/** Second factors that accounts have, and no login needs. */
function warnOfUnused(
  type: LoginType,
  changes: AccountChanges,
  settings: LoginSettings['second_factor'],
  log: Logger,
): void {
  const accounts = changes.secondFactors()
  if (settings.for !== 'off' || accounts === 0) return
  log.warn(
    { type, accounts },
    'login.second_factor.for is off: accounts with a second factor need their password alone',
  )
}
