import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { LoginType } from '../session/sides.ts'

/*
 * How a second factor is stored with its account: `NAME.SEALED`. The name is random, and stays the same while the factor does
 * (`account/version.ts`). SEALED is Base64url of a nonce, the text encrypted with AES-256-GCM, and the tag. The side, the
 * login id and the name are bound in: a text that was copied to another account cannot be opened there.
 */

export interface FactorContent {
  /** The shared secret, in Base32. */
  secret: string
  /** Hashes of the recovery codes that have not been used. */
  codes: readonly string[]
  /** Of a factor that waits for its confirmation: the name of the one that the account has, empty without one. */
  replaces?: string
  /** Of the same: the credential version of the account (`account/version.ts`), whose password began the set-up. */
  credentialVersion?: string | undefined
}

export interface OpenFactor extends FactorContent {
  name: string
}

export interface Seal {
  seal(accountId: string, factor: OpenFactor): string
  /** `null` for a text that was sealed with another key, or for another account, or is damaged. */
  open(accountId: string, sealed: string): OpenFactor | null
}

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** 9 bytes are 12 characters of Base64url. */
const NAME_BYTES = 9

export const newName = (): string => randomBytes(NAME_BYTES).toString('base64url')

/** The name of a stored factor; empty where an account has none. */
export const nameOf = (sealed: string | undefined): string => sealed?.split('.', 1)[0] ?? ''

/** The key: the configured one, or else one that is derived from the private key of SM2, which cannot be computed back. */
export function sealingKey(key: string | undefined, sm2PrivateKey: string): Buffer {
  if (key !== undefined) return Buffer.from(key, 'hex')
  return Buffer.from(hkdfSync('sha256', Buffer.from(sm2PrivateKey, 'hex'), '', 'dualgate:second-factor', 32))
}

export function createSeal(type: LoginType, key: Buffer): Seal {
  // No login id contains a line feed.
  const boundTo = (accountId: string, name: string): Buffer => Buffer.from(`${type}\n${accountId}\n${name}`)
  return {
    seal(accountId, { name, ...content }) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(boundTo(accountId, name))
      const text = Buffer.concat([cipher.update(JSON.stringify(content)), cipher.final()])
      return `${name}.${Buffer.concat([nonce, text, cipher.getAuthTag()]).toString('base64url')}`
    },
    open(accountId, sealed) {
      const name = nameOf(sealed)
      const bytes = Buffer.from(sealed.slice(name.length + 1), 'base64url')
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return null
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAAD(boundTo(accountId, name)).setAuthTag(bytes.subarray(-TAG_BYTES))
      try {
        const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
        return { name, ...(JSON.parse(text.toString()) as FactorContent) }
      } catch {
        return null
      }
    },
  }
}
