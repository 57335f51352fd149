import { randomBytes } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { createRecent } from '../base/recent.ts'
import { asToken, type Token } from './bearer.ts'

/** The claims of a token: an id (milliseconds in hex, then 128 random bits), and the time of issue in seconds. No `exp`: the record rules. */
export interface Claims {
  jti: string
  iat: number
}

/** Whether a token was issued within the last `interval` milliseconds. One of before a clock was set back seems to be of the future. */
export function isYoung({ iat }: Claims, interval: number, now: number): boolean {
  const age = now - iat * 1000
  return age >= 0 && age < interval
}

/** The needed part of the JWS library. `verify` throws if the signature or the algorithm does not match. */
export interface Signer {
  sign(claims: Claims): string
  verify(token: string): unknown
  /** Whether the signature is made with our key; claims are ignored. */
  isSigned(token: Token): boolean
}

export type JwtAlgorithm = 'HS256' | 'HS384' | 'HS512'

export interface Jwt {
  issue(): Token
  /** A token with a `jti` of the client's own, of at most 256 characters. */
  issueNamed(jti: string): Token
  /** The claims of a token with a valid signature; `null` for every other token. */
  read(token: Token): Claims | null
  /** Whether a token is signed with our key, even if we refuse its claims: other programs may accept it. */
  isSigned(token: Token): boolean
}

/** Clocks of several gateways differ; a token with an `iat` further in the future was not issued by any of them. */
const CLOCK_SKEW_SECONDS = 300
const MAX_CLAIM_LENGTH = 256
/** Our payloads have 60 bytes. Another issuer may add claims, up to this size. */
const MAX_PAYLOAD_LENGTH = 2048

/** Issues and reads tokens; `remember` bounds how many verified signatures are kept, so that none is verified twice. */
export function createJwt(signer: Signer, algorithm: JwtAlgorithm, clock: Clock, remember = 50_000): Jwt {
  /** Tokens with a signature of ours, and their claims; `null` where only the signature was verified. */
  const verified = createRecent<Claims | null>(remember)

  function verify(token: Token): Claims | null {
    const [header, payload] = token.split('.') as [string, string, string]
    if (payload.length > MAX_PAYLOAD_LENGTH || !isOurHeader(header, algorithm) || !isCanonical(token)) return null
    try {
      return readClaims(signer.verify(token), clock.now() / 1000)
    } catch {
      return null
    }
  }

  let lastIssue = 0

  function signed(claims: Claims): Token {
    const token = asToken(signer.sign(claims))
    if (token === null) throw new Error('the signer did not answer with a compact JWS')
    return token
  }

  return {
    issueNamed: jti => signed({ jti, iat: Math.floor(clock.now() / 1000) }),
    issue() {
      const now = clock.now()
      // Ids are in the order of issue, also within a millisecond: if a user has too many sessions, the oldest ends.
      lastIssue = Math.max(now, lastIssue + 1)
      const jti = lastIssue.toString(16).padStart(12, '0') + randomBytes(16).toString('base64url')
      return signed({ jti, iat: Math.floor(now / 1000) })
    },
    read(token) {
      const known = verified.get(token)
      if (known !== undefined && known !== null) return known
      const claims = verify(token)
      if (claims !== null) verified.set(token, claims)
      return claims
    },
    isSigned(token) {
      if (verified.get(token) !== undefined) return true
      const isSigned = signer.isSigned(token)
      if (isSigned) verified.set(token, null)
      return isSigned
    },
  }
}

/** Only `alg` and `typ` are understood; `crit`, `b64`, `kid` and their like would change what the signature means. */
function isOurHeader(encoded: string, algorithm: JwtAlgorithm): boolean {
  if (encoded.length > 256) return false
  try {
    const header: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString())
    if (typeof header !== 'object' || header === null || Array.isArray(header)) return false
    const { alg, typ, ...others } = header as Record<string, unknown>
    return alg === algorithm && (typ === undefined || typ === 'JWT') && Object.keys(others).length === 0
  } catch {
    return false
  }
}

/**
 * Base64url leaves spare bits in the last character: other strings with the same bytes are different tokens and not
 * ours.
 */
function isCanonical(token: Token): boolean {
  return token.split('.').every(part => Buffer.from(part, 'base64url').toString('base64url') === part)
}

function readClaims(payload: unknown, nowSeconds: number): Claims | null {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return null
  const { jti, iat } = payload as Record<string, unknown>
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_CLAIM_LENGTH) return null
  if (typeof iat !== 'number' || !Number.isFinite(iat) || iat < 0 || iat > nowSeconds + CLOCK_SKEW_SECONDS) return null
  return { jti, iat }
}
