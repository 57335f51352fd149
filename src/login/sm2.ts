import { randomBytes } from 'node:crypto'
import smCrypto from 'sm-crypto'
import type { Threads } from './threads.ts'

declare module 'sm-crypto' {
  namespace sm2 {
    // Exported by the library, absent from its types.
    function getPublicKeyFromPrivateKey(privateKey: string): string
    /** Whether it is a point of the curve. */
    function verifyPublicKey(point: string): boolean
  }
}

/** The transport encryption of passwords ("Authentication", rule 4). */
export interface Sm2 {
  /** 130 lower-case hex digits: `04`, x, y. */
  readonly publicKey: string
  /** The text that a client encrypted; `null` for everything that is no ciphertext of some text for this key. */
  decrypt(ciphertext: string): Promise<string | null>
}

/** Decrypts in worker threads: one decryption is about ten milliseconds of arithmetic. */
export function createSm2(privateKey: string, threads: Pick<Threads, 'decrypt'>): Sm2 {
  return {
    publicKey: publicKeyOf(privateKey),
    decrypt: ciphertext => threads.decrypt(ciphertext, privateKey),
  }
}

/** Order of the curve's group (GB/T 32918.5). A private key is a number from 1 to n - 2. */
const ORDER = 0xfffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54123n

function isPrivateKey(hex: string): boolean {
  if (!/^[0-9a-f]{64}$/i.test(hex)) return false
  const number = BigInt(`0x${hex}`)
  return number >= 1n && number <= ORDER - 2n
}

/** The public key of a private one, as clients expect it: 130 lower-case hex digits that begin with `04`. */
export function publicKeyOf(privateKey: string): string {
  if (!isPrivateKey(privateKey)) throw new Error('the SM2 private key must be 64 hex digits, a number from 1 to n - 2')
  return smCrypto.sm2.getPublicKeyFromPrivateKey(privateKey)
}

/** A new private key: 64 lower-case hex digits. */
export function generateSm2PrivateKey(): string {
  for (;;) {
    const hex = randomBytes(32).toString('hex')
    if (isPrivateKey(hex)) return hex
  }
}

/** C1 is a point of 64 bytes, C3 a hash of 32; C2 is as long as the text. */
const OVERHEAD_BYTES = 64 + 32
const MAX_PLAINTEXT_BYTES = 8192
const MAX_DIGITS = 2 * (OVERHEAD_BYTES + MAX_PLAINTEXT_BYTES)

/** A ciphertext of nothing for nobody: its C1 is the generator of the group, and its C3 fits no text. */
const DECOY =
  '32c4ae2c1f1981195f9904466a39c9948fe30bbff2660be1715a4589334c74c7' +
  'bc3736a2f4f6779c59bdcee36b692153d0a9877cc62a474002df32e52139f0a0' +
  '00'.repeat(32 + 16)

/**
 * The text in a C1‖C3‖C2 ciphertext in hex, in the calling thread. Some clients put the `04` of an uncompressed point in
 * front, but one C1 in 256 begins with these digits by itself: so the ciphertext is tried as it was sent, and its C3
 * decides. What is none costs the time of one all the same, so that a failed login takes as long as any other.
 */
export function decryptCiphertext(hex: string, privateKey: string): string | null {
  const forms = [hex, ...(hex.startsWith('04') ? [hex.slice(2)] : [])].filter(hasForm)
  if (forms.length === 0) open(DECOY, privateKey)
  for (const form of forms) {
    const text = open(form, privateKey)
    if (text !== null) return text
  }
  return null
}

/** Whether it could be a ciphertext, its C1 being a point of the curve. */
function hasForm(hex: string): boolean {
  if (hex.length <= 2 * OVERHEAD_BYTES || hex.length > MAX_DIGITS) return false
  return hex.length % 2 === 0 && /^[0-9a-f]+$/i.test(hex) && isPoint(hex.slice(0, 128))
}

function isPoint(coordinates: string): boolean {
  try {
    return smCrypto.sm2.verifyPublicKey(`04${coordinates}`)
  } catch {
    return false
  }
}

function open(hex: string, privateKey: string): string | null {
  try {
    const bytes: unknown = smCrypto.sm2.doDecrypt(hex, privateKey, 1, { output: 'array' })
    // The library answers with nothing when C3 does not fit.
    if (!Array.isArray(bytes) || bytes.length === 0) return null
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes))
  } catch {
    return null
  }
}
