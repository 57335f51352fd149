import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFile } from '../base/durable-file.ts'
import { isPattern, weaknessOf } from './guessable.ts'
import { HEADER_VALUE } from './header-field.ts'
import { faultOfIdentityKey, generateIdentityKey } from './identity-key.ts'
import { generateSm2PrivateKey, isSm2PrivateKey } from './sm2-key.ts'

/** A new key for signing tokens, or any other shared secret: 48 random bytes as text. */
export const generateSecret = (): string => randomBytes(48).toString('base64url')

const MIN_KEY_BYTES = 32
/** The least entropy beside words, in bits by the frequency of the characters: 32 random hex digits have 70 and more. */
const MIN_KEY_BITS = 64
const MIN_SECRET_BITS = 32

const IN_HEADER = new RegExp(HEADER_VALUE)
const NOT_IN_HEADER = 'has characters outside of ASCII, or spaces at its ends, and is sent in a header'

const MAKE_ONE = 'make one with `dualgate keys jwt`'

/** Why a text cannot sign tokens; `null` when it can. RFC 7518, 3.2: a key as long as the hash, here 32 bytes. */
export const faultOfSigningKey = (secret: string): string | null => faultOfForm(secret) ?? weaknessOfSigningKey(secret)

/** Faults that an operator cannot accept. */
export function faultOfForm(secret: string): string | null {
  if (secret.includes('-----BEGIN')) return `is a key in PEM form, which is for other algorithms; ${MAKE_ONE}`
  if (Buffer.byteLength(secret) < MIN_KEY_BYTES) return `is shorter than ${MIN_KEY_BYTES} bytes; ${MAKE_ONE}`
  return null
}

/** Why a text is unfit as the internal secret: a header cannot carry it, or it can be guessed; `null` when it is fit. */
export const faultOfInternalSecret = (secret: string): string | null =>
  withRemedy(IN_HEADER.test(secret) ? weaknessOf(secret, MIN_SECRET_BITS) : NOT_IN_HEADER)

/** Why a key that is long enough can be guessed; an operator may accept that. `null` when it cannot be guessed. */
export function weaknessOfSigningKey(secret: string): string | null {
  return faultOfForm(secret) === null ? withRemedy(weaknessOf(secret, MIN_KEY_BITS)) : null
}

const withRemedy = (fault: string | null): string | null => (fault === null ? null : `${fault}; ${MAKE_ONE}`)

/** Why a key of 64 hex digits can be guessed; `null` when it cannot. */
export function faultOfSealingKey(key: string): string | null {
  return isPattern(key.toLowerCase()) ? 'is a pattern that can be guessed; make one with `openssl rand -hex 32`' : null
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
  /** What the setting is set to. */
  value: string
  generate(): string
  faultOf(secret: string): string | null
}

export const SECRETS = {
  jwt: {
    key: 'jwt.secret_key',
    variable: 'JWT__SECRET_KEY',
    file: 'jwt.secret',
    value: 'the output of `dualgate keys jwt`',
    generate: generateSecret,
    faultOf: faultOfSigningKey,
  },
  sm2: {
    key: 'login.sm2.private_key',
    variable: 'LOGIN__SM2__PRIVATE_KEY',
    file: 'sm2.key',
    value: 'the output of `dualgate keys sm2`',
    generate: generateSm2PrivateKey,
    faultOf: faultOfSm2PrivateKey,
  },
  internal: {
    key: 'internal.secret',
    variable: 'INTERNAL__SECRET',
    file: 'internal.secret',
    value: 'the output of `dualgate keys jwt`',
    generate: generateSecret,
    faultOf: faultOfInternalSecret,
  },
} as const satisfies Record<string, SecretKind>

/** What a gateway needs besides that signs assertions. Its setting names a file. */
export const IDENTITY_KEY: SecretKind = {
  key: 'identity.key_file',
  variable: 'IDENTITY__KEY_FILE',
  file: 'identity.pem',
  value: 'a file with the output of `dualgate keys identity`',
  generate: generateIdentityKey,
  faultOf: faultOfIdentityKey,
}

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
