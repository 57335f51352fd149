import smCrypto from 'sm-crypto'

declare module 'sm-crypto' {
  namespace sm2 {
    // Exported by the library, but missing in its types.
    function getPublicKeyFromPrivateKey(privateKey: string): string
    /** Whether the point is on the curve. */
    function verifyPublicKey(point: string): boolean
  }
}

/** The public key of a valid private key: 130 lower-case hex digits that begin with `04`. */
export const derivePublicKey = (privateKey: string): string => smCrypto.sm2.getPublicKeyFromPrivateKey(privateKey)

/** C1 is a point of 64 bytes, C3 a hash of 32; C2 is as long as the text. */
const OVERHEAD_BYTES = 64 + 32
const MAX_PLAINTEXT_BYTES = 8192
const MAX_DIGITS = 2 * (OVERHEAD_BYTES + MAX_PLAINTEXT_BYTES)

/** A valid form without content: its C1 is the generator of the group, and its C3 matches no text. */
const DECOY =
  '32c4ae2c1f1981195f9904466a39c9948fe30bbff2660be1715a4589334c74c7' +
  'bc3736a2f4f6779c59bdcee36b692153d0a9877cc62a474002df32e52139f0a0' +
  '00'.repeat(32 + 16)

/**
 * The text in a C1‖C3‖C2 ciphertext in hex, in the calling thread. Some clients put the `04` of an uncompressed point
 * in front, but one C1 in 256 begins with these digits by itself: so the ciphertext is first decrypted as it was sent,
 * and its C3 decides. Invalid input costs as much time as valid input, so that every failed login takes about the same
 * time.
 */
export function decryptCiphertext(hex: string, privateKey: string): string | null {
  const forms = [hex, ...(hex.startsWith('04') ? [hex.slice(2)] : [])].filter(hasForm)
  const ciphertexts = orDecoy(forms).filter(isOnCurve)
  for (const ciphertext of orDecoy(ciphertexts)) {
    const text = open(ciphertext, privateKey)
    if (text !== null) return text
  }
  return null
}

const orDecoy = (found: readonly string[]): readonly string[] => (found.length > 0 ? found : [DECOY])

function hasForm(hex: string): boolean {
  if (hex.length <= 2 * OVERHEAD_BYTES || hex.length > MAX_DIGITS) return false
  return hex.length % 2 === 0 && /^[0-9a-f]+$/i.test(hex)
}

/** Whether C1 is a point of the curve. */
function isOnCurve(ciphertext: string): boolean {
  try {
    return smCrypto.sm2.verifyPublicKey(`04${ciphertext.slice(0, 128)}`)
  } catch {
    return false
  }
}

function open(hex: string, privateKey: string): string | null {
  try {
    const bytes: unknown = smCrypto.sm2.doDecrypt(hex, privateKey, 1, { output: 'array' })
    // The library returns an empty text if C3 does not match.
    if (!Array.isArray(bytes) || bytes.length === 0) return null
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes))
  } catch {
    return null
  }
}
