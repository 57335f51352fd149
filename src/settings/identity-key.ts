import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { ConfigurationError } from './notation/fault.ts'
import { readPem, tryPem } from './pem.ts'

/** The keys of assertions. */
export interface IdentityKeys {
  /** Private: it signs. */
  current: KeyObject
  /** Is published besides, and signs nothing; `null` for none. */
  other: KeyObject | null
}

/** Where they are. */
export interface IdentityKeyFiles {
  key_file: string
  previous_key_file?: string | undefined
}

/** A new key for assertions: EC P-256 in PEM form (PKCS #8). */
export function generateIdentityKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().trim()
}

/** Why a text cannot sign assertions; `null` when it can. */
export function faultOfIdentityKey(pem: string): string | null {
  try {
    return isP256(createPrivateKey(pem)) ? null : NOT_P256
  } catch {
    return NO_PRIVATE_KEY
  }
}

const NO_PRIVATE_KEY = 'holds no private key in PEM form without a passphrase'
const NOT_P256 = 'is not a key of the curve P-256, which ES256 needs; make one with `dualgate keys identity`'
const NO_KEY = 'holds no key in PEM form without a passphrase'

const isP256 = ({ asymmetricKeyDetails, asymmetricKeyType }: KeyObject): boolean =>
  asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1'

/**
 * Reads the keys of assertions. Throws `ConfigurationError` when a file cannot be read, or holds no key for ES256.
 */
export const readIdentityKeys = ({ key_file, previous_key_file }: IdentityKeyFiles): IdentityKeys => ({
  current: readSigningKey(key_file),
  other: previous_key_file === undefined ? null : readPublishedKey(previous_key_file),
})

export const readSigningKey = (file: string): KeyObject =>
  readKey(file, 'identity.key_file', NO_PRIVATE_KEY, createPrivateKey)

/** Of a private key the public part. */
export const readPublishedKey = (file: string): KeyObject =>
  readKey(file, 'identity.previous_key_file', NO_KEY, createPublicKey)

function readKey(file: string, setting: string, fault: string, create: (pem: string) => KeyObject): KeyObject {
  const pem = readPem(file, setting)
  const key = tryPem(file, fault, () => create(pem))
  if (!isP256(key)) throw new ConfigurationError([{ place: file, message: NOT_P256 }])
  return key
}
