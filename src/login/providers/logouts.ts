import type { Clock } from '../../base/clock.ts'
import type { Provider } from '../../provider/provider.ts'
import { ProviderRefusal } from '../../provider/refusal.ts'
import type { AttemptStore } from '../../store/store.ts'
import { digestOf } from '../identity/digest.ts'
import { type ProviderSessions, sessionDigest, userDigest } from '../identity/provider-sessions.ts'

/** How long a token is remembered at least that was accepted, in milliseconds: longer than it would be accepted. */
const REMEMBERED = 600_000

export interface LogoutsOptions {
  sessions: Pick<ProviderSessions, 'end'>
  attempts: Pick<AttemptStore, 'read' | 'set'>
  clock: Clock
}

/**
 * Logouts that a provider sends (OpenID Connect Back-Channel Logout 1.0). Resolves when the sessions have ended, also where
 * none was known. Throws `ProviderRefusal` for an invalid token, and for one that came before; `Unavailable` if the store fails: then
 * the token is not used up, and the provider may send it again.
 */
export function createLogouts({ sessions, attempts, clock }: LogoutsOptions) {
  return async (
    { settings, logoutNotice }: Pick<Provider, 'settings' | 'logoutNotice'>,
    token: string,
  ): Promise<void> => {
    const { name, logout, clock_tolerance: tolerance } = settings
    const { sub, sid, jti, iat } = await logoutNotice(token)
    const used = `logout:${digestOf(name, jti)}`
    if ((await attempts.read(used)) !== null) throw new ProviderRefusal('logout-repeated')
    const named = {
      user: sub === undefined ? undefined : userDigest(name, sub),
      session: sid === undefined ? undefined : sessionDigest(name, sid),
      issuedAt: iat,
    }
    if (!(await sessions.end(name, named, logout))) throw new ProviderRefusal('logout-mismatch')
    // Afterwards: to end the same sessions twice does no harm, and what failed can be sent again.
    await attempts.set(used, 1, clock.now() + REMEMBERED + 2 * tolerance)
  }
}
