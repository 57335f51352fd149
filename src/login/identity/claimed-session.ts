import { versionsIn } from '../../account/version.ts'
import { providerIn } from '../../session/provider.ts'
import type { SessionRecord } from '../../session/record.ts'
import type { Settings } from '../../settings/schema/settings.ts'
import { claimingProvider } from '../../settings/served.ts'

/**
 * Whether the claims of one of these providers are the account of a session. A session that carries a version is of an account of
 * the side, which may have been removed.
 */
export function isClaimedSession(
  settings: { login: Pick<Settings['login'], 'providers'> },
  { type, user_id, extra }: SessionRecord,
): boolean {
  const provider = claimingProvider(settings, type, user_id)
  return provider !== undefined && provider.name === providerIn(extra) && versionsIn(extra).length === 0
}
