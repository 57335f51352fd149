import { createPrivateKey, type KeyObject } from 'node:crypto'
import { ConfigurationError } from './notation/fault.ts'
import { readPem, tryPem } from './pem.ts'

/** The private key that proves the gateway to an OpenID provider. */
export interface ClientKey {
  key: KeyObject
  /** That of its signatures (RFC 7518): the key's own. */
  algorithm: string
}

const MIN_RSA_BITS = 2048

const NO_KEY = 'holds no private key in PEM form without a passphrase'
const UNUSABLE = 'is no key that providers know: RSA of 2048 bits or more, EC P-256, P-384, P-521, or Ed25519'

const OF_CURVE: Readonly<Record<string, string>> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' }

/** Reads it. Throws `ConfigurationError` when the file cannot be read, or holds no such key. */
export function readClientKey(file: string): ClientKey {
  const pem = readPem(file, 'key')
  const key = tryPem(file, NO_KEY, () => createPrivateKey(pem))
  const algorithm = algorithmOf(key)
  if (algorithm === null) throw new ConfigurationError([{ place: file, message: UNUSABLE }])
  return { key, algorithm }
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): string | null {
  if (asymmetricKeyType === 'ed25519') return 'EdDSA'
  if (asymmetricKeyType === 'ec') return OF_CURVE[asymmetricKeyDetails.namedCurve ?? ''] ?? null
  if (asymmetricKeyType !== 'rsa' || (asymmetricKeyDetails.modulusLength ?? 0) < MIN_RSA_BITS) return null
  return 'RS256'
}
