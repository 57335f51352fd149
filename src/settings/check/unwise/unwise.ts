import type { KeyPath, Written } from '../../notation/written.ts'
import type { DecodedSettings } from '../../schema/settings.ts'
import type { UpstreamSettings } from '../../schema/upstreams.ts'
import { ACCOUNT_SOURCES } from './account-sources.ts'
import { EXPOSURE } from './exposure.ts'
import type { Rule } from './rule.ts'
import { warnOfWrittenSecrets } from './secrets.ts'
import { SESSIONS } from './sessions.ts'
import { SIGN_IN } from './sign-in.ts'
import { UPSTREAMS } from './upstreams.ts'

/* Valid settings that give up a protection. `dualgate check`, each start and `/readyz` name them. */

/** Warns of every unwise setting, where there are no faults. */
export function warnOfUnwise(settings: DecodedSettings, written: Written, isProduction: boolean): void {
  if (written.faults.length > 0) return
  warn([...EXPOSURE, ...SIGN_IN, ...ACCOUNT_SOURCES, ...SESSIONS], settings, written, [], isProduction)
  if (isProduction) warnOfWrittenSecrets(written)
}

export function warnOfUnwiseUpstreams(
  upstreams: readonly UpstreamSettings[],
  written: Written,
  isProduction: boolean,
): void {
  if (written.faults.length > 0) return
  for (const [index, upstream] of upstreams.entries())
    warn(UPSTREAMS, upstream, written, ['upstreams', index], isProduction)
}

function warn<T>(rules: readonly Rule<T>[], settings: T, written: Written, base: KeyPath, isProduction: boolean): void {
  for (const { setting, finds, message } of rules) {
    const found = finds(settings, isProduction)
    const path = [...base, ...setting]
    if (found === true) written.warn(path, message)
    else if (found !== false) for (const index of found) written.warn([...path, index], message)
  }
}
