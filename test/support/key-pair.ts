import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'

const CURVES: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

/**
 * A new key pair for an algorithm of JWS (RFC 7518, RFC 8037). It has passed through PEM: when Node 20 exports a key that it has
 * generated itself as a JWK, and collects garbage meanwhile, the process waits for itself for ever.
 */
export function newKeyPair(
  alg: string,
  { modulusLength = 2048 } = {},
): { privateKey: KeyObject; publicKey: KeyObject } {
  const privateKey = createPrivateKey(generate(alg, modulusLength).export({ type: 'pkcs8', format: 'pem' }))
  return { privateKey, publicKey: createPublicKey(privateKey) }
}

function generate(alg: string, modulusLength: number): KeyObject {
  const namedCurve = CURVES[alg]
  if (namedCurve !== undefined) return generateKeyPairSync('ec', { namedCurve }).privateKey
  if (alg === 'EdDSA') return generateKeyPairSync('ed25519').privateKey
  return generateKeyPairSync('rsa', { modulusLength }).privateKey
}
