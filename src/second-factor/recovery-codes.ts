import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Digits and letters that cannot be confused with each other (Crockford's Base32): five bits each. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const FORM = /^[0-9A-HJKMNP-TV-Z]{16}$/
/** 16 characters are 80 bits: too many to guess, even for who has read the hashes. */
const CHARACTERS = 16
const CODES = 10

/** New codes to print, such as `7K2M-9QXD-0F4T-VW8A`. */
export const newRecoveryCodes = (): string[] => Array.from({ length: CODES }, newCode)

function newCode(): string {
  // 256 is a multiple of 32: each character is as likely as another.
  const characters = Array.from(randomBytes(CHARACTERS), byte => ALPHABET[byte % ALPHABET.length])
  return characters.join('').replace(/(.{4})(?=.)/g, '$1-')
}

/**
 * A code as it is hashed, without dashes and blanks, not in full width, and with the digits for which people take O, I and L; `null` for a text
 * that is not a recovery code.
 */
export function readRecoveryCode(text: string): string | null {
  const code = text.normalize('NFKC').replace(/[\s-]/g, '').toUpperCase().replaceAll('O', '0').replace(/[IL]/g, '1')
  return FORM.test(code) ? code : null
}

/** The hash of a code in the form of `readRecoveryCode`. The codes are random: a quick hash is enough. */
export const hashOf = (code: string): string => createHash('sha256').update(code).digest('base64url')

export const hashesOf = (codes: readonly string[]): string[] => codes.map(code => hashOf(readRecoveryCode(code)!))

/** Whether one of the hashes is that of the code. Compares all of them, in constant time. */
export function isAmong(hash: string, hashes: readonly string[]): boolean {
  const wanted = Buffer.from(hash)
  let found = false
  for (const other of hashes.map(text => Buffer.from(text))) {
    if (other.length === wanted.length && timingSafeEqual(other, wanted)) found = true
  }
  return found
}
