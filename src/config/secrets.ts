import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFile } from '../durable-file.ts'
import { generateSm2PrivateKey, isSm2PrivateKey } from './sm2-key.ts'

/** A new key for signing tokens, or any other shared secret: 48 random bytes as text. */
export const generateSecret = (): string => randomBytes(48).toString('base64url')

/**
 * Words and sequences of which examples are made: letters and digits only, in lower case. They are easy to guess, so only
 * the rest of a secret counts.
 */
const COMMON = [
  'changeme',
  'changethis',
  'changeit',
  'replaceme',
  'inproduction',
  'astringsecretatleast',
  'bitsecret',
  'bitslong',
  'yoursecret',
  'secretkey',
  'supersecret',
  'topsecret',
  'mysecret',
  'insecure',
  'password',
  'authorization',
  'development',
  'production',
  'padded',
  'tobelongenough',
  'example',
  'default',
  'fastapi',
  'secret',
  'token',
  'your',
  'jwt',
  'key',
  'qwertyuiop',
]
const MIN_KEY_BYTES = 32
/** Random keys of 32 hex digits have 14 different ones; fewer than this is a pattern. */
const MIN_DIFFERENT_CHARACTERS = 8
/** The least entropy beside common words, in bits by the frequency of the characters: 32 random hex digits have 90 and more. */
const MIN_KEY_BITS = 64
const MIN_SECRET_BITS = 32

const MAKE_ONE = 'make one with `dualgate keys jwt`'

/** Why a text cannot sign tokens; `null` when it can. RFC 7518, 3.2: a key as long as the hash, here 32 bytes. */
export const faultOfSigningKey = (secret: string): string | null => faultOfForm(secret) ?? weaknessOfSigningKey(secret)

/** Faults that an operator cannot accept. */
export function faultOfForm(secret: string): string | null {
  if (secret.includes('-----BEGIN')) return `is a key in PEM form, which is for other algorithms; ${MAKE_ONE}`
  if (Buffer.byteLength(secret) < MIN_KEY_BYTES) return `is shorter than ${MIN_KEY_BYTES} bytes; ${MAKE_ONE}`
  return null
}

/** Why a text is unfit as a secret: it is an example, or a pattern; `null` when it is fit. */
export const faultOfSecret = (secret: string): string | null => weaknessOf(secret, MIN_SECRET_BITS)

/** Why a key that is long enough can be guessed; an operator may accept that. `null` when it cannot be guessed. */
export function weaknessOfSigningKey(secret: string): string | null {
  return faultOfForm(secret) === null ? weaknessOf(secret, MIN_KEY_BITS) : null
}

function weaknessOf(secret: string, minBits: number): string | null {
  if (isRepetition(secret) || new Set(secret).size < MIN_DIFFERENT_CHARACTERS)
    return `is a pattern that can be guessed; ${MAKE_ONE}`
  const own = withoutCommon(secret)
  if (own.length < secret.length && bitsOf(own) < minBits)
    return `is a well-known example, or common words with too little beside them; ${MAKE_ONE}`
  return null
}

/** A secret without the words that examples are made of and without runs such as `0123456789` or `aaaa`. */
function withoutCommon(secret: string): string {
  let rest = secret.toLowerCase().replace(/[^a-z0-9]/g, '')
  const plain = rest
  for (const word of COMMON) rest = rest.replaceAll(word, '')
  rest = withoutRuns(rest)
  return rest === plain ? secret : rest
}

/** Each character that follows the one before it, in the order of the alphabet or of digits or as the same again, is left out. */
function withoutRuns(text: string): string {
  const steps = Array.from(text, (character, i) => character.charCodeAt(0) - (text.charCodeAt(i - 1) || 0))
  const inRun = (i: number): boolean => Math.abs(steps[i]!) <= 1 && steps[i] === (steps[i + 1] ?? steps[i - 1])
  return Array.from(text)
    .filter((_, i) => !(i > 0 && inRun(i)))
    .join('')
}

/** The entropy of a text by how often each of its characters occurs: an upper bound of what there is to guess. */
function bitsOf(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits += count * Math.log2(text.length / count)
  return bits
}

/** Whether a text repeats its beginning: it is as easy to guess as that beginning. */
function isRepetition(text: string): boolean {
  for (let length = 1; length <= text.length / 2; length++) {
    if (text.startsWith(text.slice(length))) return true
  }
  return false
}

/** Why a key of 64 hex digits can be guessed; `null` when it cannot. */
export function faultOfSealingKey(key: string): string | null {
  const isPattern = isRepetition(key) || new Set(key.toLowerCase()).size < MIN_DIFFERENT_CHARACTERS
  return isPattern ? 'is a pattern that can be guessed; make one with `openssl rand -hex 32`' : null
}

export function faultOfSm2PrivateKey(privateKey: string): string | null {
  if (isSm2PrivateKey(privateKey)) return null
  return 'is outside the range of SM2 private keys; make one with `dualgate keys sm2`'
}

/** A secret that is generated once, unless it is configured, and kept in a file of the data folder. */
export interface SecretKind {
  key: string
  variable: string
  file: string
  /** The command whose output is one. */
  command: string
  generate(): string
  faultOf(secret: string): string | null
}

export const SECRETS = {
  jwt: {
    key: 'jwt.secret_key',
    variable: 'JWT__SECRET_KEY',
    file: 'jwt.secret',
    command: 'dualgate keys jwt',
    generate: generateSecret,
    faultOf: faultOfSigningKey,
  },
  sm2: {
    key: 'login.sm2.private_key',
    variable: 'LOGIN__SM2__PRIVATE_KEY',
    file: 'sm2.key',
    command: 'dualgate keys sm2',
    generate: generateSm2PrivateKey,
    faultOf: faultOfSm2PrivateKey,
  },
  internal: {
    key: 'internal.secret',
    variable: 'INTERNAL__SECRET',
    file: 'internal.secret',
    command: 'dualgate keys jwt',
    generate: generateSecret,
    faultOf: faultOfSecret,
  },
} as const satisfies Record<string, SecretKind>

/** The secret in the data folder, generated when it is absent. Several processes that start at once get the same one. */
export function keepSecret(kind: SecretKind, folder: string): string {
  const file = join(folder, kind.file)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (readSecret(file) === null) createFile(file, `${kind.generate()}\n`)
  const secret = readSecret(file)
  if (secret === null || kind.faultOf(secret) !== null) {
    throw new Error('does not hold a valid secret; restore the file, or remove it to have a new one generated')
  }
  return secret
}

/** The secret in the data folder; `null` without one. */
export const keptSecret = (kind: SecretKind, folder: string): string | null => readSecret(join(folder, kind.file))

function readSecret(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
