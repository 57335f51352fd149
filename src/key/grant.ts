import type { Clock } from '../base/clock.ts'
import { secondsUntil } from '../base/clock.ts'
import { KeyCredential } from '../gate/key-credential.ts'
import type { LoginType } from '../session/sides.ts'
import type { CredentialStore } from '../store/credentials.ts'
import type { Jwt } from '../token/jwt.ts'
import { asKey, partsOf } from '../token/key-form.ts'
import { ACCESS_TOKEN_LIFETIME, accessTokenId } from './access-token.ts'
import type { KeySessions } from './lookup.ts'
import { readKey } from './record.ts'

/** The answer of a token endpoint (RFC 6749, 5.1). */
export interface GrantedToken {
  access_token: string
  token_type: 'Bearer'
  /** Seconds. */
  expires_in: number
}

export interface GrantOptions {
  type: LoginType
  jwt: Pick<Jwt, 'issueNamed'>
  credentials: Pick<CredentialStore, 'find'>
  sessions: Pick<KeySessions, 'find'>
  clock: Clock
}

/** Gives an access token for a key: the id of the key is the client's id, and the whole key its secret. `null` for a wrong one. */
export type Grant = (clientId: string, clientSecret: string, address: string) => Promise<GrantedToken | null>

export function createGrant({ type, jwt, credentials, sessions, clock }: GrantOptions): Grant {
  return async (clientId, clientSecret, address) => {
    const key = asKey(clientSecret)
    if (key === null || partsOf(key).id !== clientId) return null
    const session = await sessions.find(new KeyCredential(key, { address }))
    if (session === null || !session.key!.admits({ address })) return null
    const credential = await credentials.find(type, clientId)
    const stored = credential === null ? null : readKey(credential)
    if (stored === null) return null
    const now = clock.now()
    const expiresAt = Math.min(stored.expiresAt, now + ACCESS_TOKEN_LIFETIME)
    return {
      access_token: jwt.issueNamed(accessTokenId(stored, expiresAt)),
      token_type: 'Bearer',
      expires_in: secondsUntil(expiresAt, now),
    }
  }
}
