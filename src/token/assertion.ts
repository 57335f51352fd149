import type { KeyObject } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, type JSONWebKeySet, type JWK, SignJWT } from 'jose'

/** What an assertion says of a user, and for whom. */
export interface Assertion {
  sub: string
  aud: string
  login_type: string
  /** Absent where the session knows none. */
  username?: string
  roles: string[]
}

/** Signs assertions: JWTs (RFC 7519) with ES256, which prove to an upstream who the user of a request is. */
export interface AssertionSigner {
  /** The public keys (RFC 7517): the one that signs, and the other one if there is one. */
  readonly keys: JSONWebKeySet
  /** A compact JWS, valid from `issuedAt` for `lifetime`; both in seconds. */
  sign(assertion: Assertion, issuedAt: number, lifetime: number): Promise<string>
}

const ALGORITHM = 'ES256'

/** `current` is a private key and signs; `other`, if there is one, is only published. Both are of the curve P-256. */
export async function createAssertionSigner(
  issuer: string,
  current: KeyObject,
  other: KeyObject | null,
): Promise<AssertionSigner> {
  const keys = await Promise.all([current, ...(other === null ? [] : [other])].map(publicPartOf))
  const header = { alg: ALGORITHM, typ: 'JWT', kid: keys[0]!.kid! }
  return {
    keys: { keys },
    sign(assertion, issuedAt, lifetime) {
      const claims = { ...assertion, iss: issuer, iat: issuedAt, nbf: issuedAt, exp: issuedAt + lifetime }
      return new SignJWT({ ...claims, jti: crypto.randomUUID() }).setProtectedHeader(header).sign(current)
    },
  }
}

/** With its thumbprint (RFC 7638) as its id: the same key has the same id at every gateway. */
async function publicPartOf(key: KeyObject): Promise<JWK> {
  const { kty, crv, x, y } = await exportJWK(key)
  const part = { kty, crv, x, y } as JWK
  return { ...part, kid: await calculateJwkThumbprint(part), alg: ALGORITHM, use: 'sig' }
}
