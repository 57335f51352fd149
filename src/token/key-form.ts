import { createHash, randomInt } from 'node:crypto'
import { createRecent } from '../base/recent.ts'
import { LOGIN_TYPES, type LoginType, SIDES } from '../session/sides.ts'
import { crc32 } from '../workarounds/node-crc32.ts'
import { SCHEME, withoutScheme } from './bearer.ts'

/*
 * A key: `dgb_<id>_<secret><checksum>` for the B side, `dgc_…` for the C side. The id names the key in lists, logs and the store.
 * The secret has 256 bits. The checksum (CRC-32, IEEE, of all before it) shows a mistyped key without a question to the store,
 * and lets scanners of secrets recognize a leaked one.
 */

declare const key: unique symbol

/** A text that has the form of a key, with a right checksum. */
export type Key = string & { readonly [key]: true }

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ID_LENGTH = 12
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6

const FORM = /^dg[bc]_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/
const SECTION_AT = 2
const ID_START = 'dgb_'.length
const SECRET_START = ID_START + ID_LENGTH + '_'.length
/** What the checksum is of. */
const SUMMED_LENGTH = SECRET_START + SECRET_LENGTH
const KEY_LENGTH = SUMMED_LENGTH + CHECKSUM_LENGTH
const ID = /^[0-9A-Za-z]{12}$/

/** Keys whose form has been checked; beyond it the least recently used half is dropped. A program sends one key again and again. */
const SEEN = 20_000
const seen = createRecent<Key>(SEEN)

export interface KeyParts {
  /** The side that the prefix names; the record of the key decides. */
  type: LoginType
  id: string
  secret: string
}

export const isKeyId = (value: unknown): value is string => typeof value === 'string' && ID.test(value)

/** `null` for a text of another form, and for one whose checksum is wrong. */
export function asKey(text: unknown): Key | null {
  if (typeof text !== 'string' || text.length !== KEY_LENGTH) return null
  const known = seen.get(text)
  if (known !== undefined) return known
  const key = readKey(text)
  if (key !== null) seen.set(text, key)
  return key
}

function readKey(text: string): Key | null {
  if (!FORM.test(text)) return null
  return crc32(text.slice(0, SUMMED_LENGTH)) === numberOf(text.slice(SUMMED_LENGTH)) ? (text as Key) : null
}

/** Reads a key from the value of a header: `Bearer <key>` with the scheme in any case and one space, or the key alone. */
export function readBearerKey(value: unknown): Key | null {
  // Most values are tokens, which are longer.
  if (typeof value !== 'string' || value.length > SCHEME.length + KEY_LENGTH) return null
  return asKey(withoutScheme(value))
}

const IN_TEXT = /dg[bc]_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}/g

/** Whether a text contains a key. */
export const containsKey = (text: string): boolean =>
  text.length >= KEY_LENGTH && (text.match(IN_TEXT)?.some(found => asKey(found) !== null) ?? false)

export const partsOf = (key: Key): KeyParts => ({
  type: LOGIN_TYPES.find(type => SIDES[type].section === key[SECTION_AT])!,
  id: key.slice(ID_START, ID_START + ID_LENGTH),
  secret: key.slice(SECRET_START, SUMMED_LENGTH),
})

/** A new key with an id and a secret of its own. */
export function makeKey(type: LoginType): { key: Key; id: string } {
  const id = randomText(ID_LENGTH)
  const text = `dg${SIDES[type].section}_${id}_${randomText(SECRET_LENGTH)}`
  return { key: `${text}${checksumOf(text)}` as Key, id }
}

/** What is stored of a secret. It has 256 bits, so a plain digest is enough. */
export const digestOfSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** The first characters of a key, by which its user recognizes it. */
export const hintOf = (type: LoginType, id: string): string => `dg${SIDES[type].section}_${id}`.slice(0, 8)

const randomText = (length: number): string =>
  Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')

/** Six digits of base 62: the largest CRC-32 has as many. */
function checksumOf(text: string): string {
  let rest = crc32(text)
  let digits = ''
  while (rest > 0) {
    digits = ALPHABET[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return digits.padStart(CHECKSUM_LENGTH, '0')
}

function numberOf(digits: string): number {
  let number = 0
  for (const digit of digits) number = number * 62 + ALPHABET.indexOf(digit)
  return number
}
