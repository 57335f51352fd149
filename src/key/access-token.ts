import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Claims } from '../token/jwt.ts'
import { isKeyId } from '../token/key-form.ts'
import type { StoredKey } from './record.ts'

/*
 * Access tokens for software that knows OAuth2 alone (RFC 6749, 4.4). Such a token is a JWT like that of a login, but no session is
 * stored for it: its `jti` names the key that it was made with, its end, and a proof that only the stored digest of the key can
 * give. So it is as live as its key, is no session that could be listed, and cannot be made with the secret of the JWTs alone. The
 * `jti` of a login has no dot, so neither can pose as the other.
 */

/** Milliseconds. */
export const ACCESS_TOKEN_LIFETIME = 3_600_000

const MARK = 'key.'

export interface AccessToken {
  keyId: string
  /** In milliseconds. */
  expiresAt: number
  /** Whether it was made with this key. */
  isOf(key: Pick<StoredKey, 'id' | 'digest'>): boolean
}

/** The `jti` of a new access token. `expiresAt` is in milliseconds. */
export function accessTokenId(key: Pick<StoredKey, 'id' | 'digest'>, expiresAt: number): string {
  const named = `${MARK}${key.id}.${Math.floor(expiresAt).toString(36)}.${randomBytes(16).toString('base64url')}`
  return `${named}.${proofOf(named, key).toString('base64url')}`
}

/** What the claims of an access token name; `null` for those of a login. */
export function readAccessToken({ jti }: Claims): AccessToken | null {
  if (!jti.startsWith(MARK)) return null
  const [keyId, end = '', nonce = '', proof = ''] = jti.slice(MARK.length).split('.')
  const expiresAt = Number.parseInt(end, 36)
  if (!isKeyId(keyId) || !Number.isSafeInteger(expiresAt)) return null
  const sent = Buffer.from(proof, 'base64url')
  return {
    keyId,
    expiresAt,
    isOf(key) {
      const expected = proofOf(`${MARK}${keyId}.${end}.${nonce}`, key)
      return key.id === keyId && sent.length === expected.length && timingSafeEqual(sent, expected)
    },
  }
}

const proofOf = (named: string, { digest }: Pick<StoredKey, 'digest'>): Buffer =>
  createHmac('sha256', digest).update(named).digest()
