import { createECDH, getCurves } from 'node:crypto'
import { isSm2PrivateKey } from '../../settings/sm2-key.ts'

/** The transport encryption of passwords ("Authentication", rule 4). */
export interface Sm2 {
  /** 130 lower-case hex digits: `04`, x, y. */
  readonly publicKey: string
  /** The text that a client encrypted; `null` if it is not a valid ciphertext for this key. */
  decrypt(ciphertext: string): Promise<string | null>
}

/** Decrypts in another process: one decryption takes about ten milliseconds of CPU. */
export type Decrypt = (ciphertext: string, privateKey: string) => Promise<string | null>

export async function createSm2(privateKey: string, decrypt: Decrypt): Promise<Sm2> {
  return {
    publicKey: await publicKeyOf(privateKey),
    decrypt: ciphertext => decrypt(ciphertext, privateKey),
  }
}

const CURVE = 'SM2'

/**
 * The public key of a private one, as clients expect it: 130 lower-case hex digits that begin with `04`. OpenSSL needs
 * a hundredth of the time, but some distributions build it without the curve.
 */
export async function publicKeyOf(privateKey: string): Promise<string> {
  if (!isSm2PrivateKey(privateKey))
    throw new Error('the SM2 private key must be 64 hex digits, a number from 1 to n - 2')
  if (!getCurves().includes(CURVE)) return (await import('./ciphertext.ts')).derivePublicKey(privateKey)
  const pair = createECDH(CURVE)
  pair.setPrivateKey(privateKey, 'hex')
  return pair.getPublicKey('hex')
}
