import { createHash } from 'node:crypto'
import type { JWTPayload } from 'jose'
import { ProviderRefusal } from './refusal.ts'
import { isId, type TokenParts, verifySigned } from './signed-token.ts'

export interface IdTokenClaims extends JWTPayload {
  sub: string
  sid?: string
}

/** What an ID token must fit. */
export interface IdTokenContext {
  nonce: string
  accessToken: string
}

/** Verifies an ID token (OpenID Connect Core 1.0, 3.1.3.7). Throws `ProviderRefusal`, and `Unavailable` without keys. */
export async function verifyIdToken(
  token: string,
  { nonce, accessToken }: IdTokenContext,
  parts: TokenParts,
): Promise<IdTokenClaims> {
  const { claims, algorithm } = await verifySigned(token, parts)
  const { client_id, acr } = parts.settings
  const { sub, sid } = claims
  if (claims.exp === undefined) throw new ProviderRefusal('token-expired')
  if (!isForClient(claims, client_id)) throw new ProviderRefusal('token-azp')
  if (claims.nonce !== nonce) throw new ProviderRefusal('token-nonce')
  if (!isId(sub)) throw new ProviderRefusal('token-subject')
  if (sid !== undefined && !isId(sid)) throw new ProviderRefusal('token-session')
  if (claims.at_hash !== undefined && claims.at_hash !== halfHash(accessToken, algorithm))
    throw new ProviderRefusal('token-at-hash')
  if (acr !== undefined && !acr.some(one => one === claims.acr)) throw new ProviderRefusal('acr')
  return { ...claims, sub } as IdTokenClaims
}

/** Of several audiences the token names the one to which it was issued. */
function isForClient({ aud, azp }: JWTPayload, client: string): boolean {
  const isOneOfSeveral = Array.isArray(aud) && aud.length > 1
  return azp === undefined ? !isOneOfSeveral : azp === client
}

/** The left half of the token's hash, by the hash of the signature; that of Ed25519 is SHA-512. */
function halfHash(token: string, algorithm: string): string {
  const bits = algorithm === 'EdDSA' ? '512' : algorithm.slice(2)
  const digest = createHash(`sha${bits}`).update(token).digest()
  return digest.subarray(0, digest.length / 2).toString('base64url')
}
