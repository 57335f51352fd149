import { isPlainObject } from '../base/plain-object.ts'
import { ProviderRefusal } from './refusal.ts'
import { isId, type TokenParts, verifySigned } from './signed-token.ts'

/** A logout at the provider: of a user, of one session, or of both. */
export interface LogoutNotice {
  sub?: string
  sid?: string
  jti: string
  /** Seconds since the Unix epoch, like `exp`. */
  iat: number
  exp?: number
}

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** In milliseconds: so long may a logout token be on its way. */
const MAX_AGE = 120_000

/** Verifies a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6), except that its `jti` is new. Throws as `verifySigned`. */
export async function verifyLogoutToken(token: string, parts: TokenParts): Promise<LogoutNotice> {
  const { claims } = await verifySigned(token, parts)
  const { sub, sid, jti, iat, exp, events } = claims
  if (!isPlainObject(events) || !isPlainObject(events[EVENT])) throw new ProviderRefusal('logout-event')
  // An ID token has one, and is no logout token.
  if ('nonce' in claims) throw new ProviderRefusal('logout-nonce')
  if (iat * 1000 < parts.clock.now() - MAX_AGE - parts.settings.clock_tolerance) throw new ProviderRefusal('logout-old')
  if (!isId(jti)) throw new ProviderRefusal('logout-id')
  const named = [sub, sid].filter(one => one !== undefined)
  if (named.length === 0 || !named.every(isId)) throw new ProviderRefusal('logout-subject')
  return {
    jti,
    iat,
    ...(sub !== undefined && { sub }),
    ...(isId(sid) && { sid }),
    ...(exp !== undefined && { exp }),
  }
}
