import { type FieldFault, invalid } from '../base/refusal.ts'

/** Passwords against stored hashes ("Authentication", rule 4). */
export interface Passwords {
  /**
   * Whether a password matches a hash. Every "no" takes the time of one comparison at `failureCost`, or at the cost of
   * the hash if that is higher. This includes a missing account (`null`), a missing password (`null`), a password that
   * bcrypt would truncate, and an invalid hash.
   */
  verifyPassword(hash: string | null, plain: string | null, failureCost: number): Promise<boolean>
}

/** bcrypt reads no more bytes than this and stops at a NUL: further bytes would not be part of the password. */
export const MAX_PASSWORD_BYTES = 72
/** Of new hashes. */
export const COST = 10
/** One comparison at this cost takes two seconds; a higher one is a mistake that would block every login. */
export const MAX_COST = 15

const HASH = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/

/** The cost in a bcrypt hash; `null` if it is not a valid bcrypt hash. */
export function costOf(hash: string): number | null {
  const cost = Number(HASH.exec(hash)?.[1] ?? 0)
  return cost >= 4 && cost <= MAX_COST ? cost : null
}

export const isBcryptHash = (hash: string): boolean => costOf(hash) !== null

/** No known password has this hash; comparing with it costs what its cost says. */
const dummyHash = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(21)}O${'.'.repeat(31)}`

/** The reason why bcrypt would read another password than this one; `null` if it would not. */
function faultOfPassword(plain: string): FieldFault | null {
  if (plain === '') return 'must not be empty'
  if (Buffer.byteLength(plain) > MAX_PASSWORD_BYTES) return `must be at most ${MAX_PASSWORD_BYTES} bytes as UTF-8`
  if (plain.includes('\0')) return 'must not contain NUL'
  if (!isWellFormed(plain)) return 'must be well-formed Unicode'
  return null
}

/** Whether bcrypt reads every character of a password. */
export const isStorable = (plain: string): boolean => !plain.includes('\0') && isWellFormed(plain)

/** UTF-8 cannot carry lone surrogates: writing it replaces them. */
const isWellFormed = (text: string): boolean => Buffer.from(text).toString() === text

/** `$2y$` is PHP's name for `$2b$`; the library does not know it. */
const readAsB = (hash: string): string => (hash.startsWith('$2y$') ? `$2b$${hash.slice(4)}` : hash)

/**
 * The decoys to compare after a hash of one cost, so that the total cost is that of a higher one: each cost is twice
 * the one below it, so 2^c + (2^c + 2^(c+1) + … + 2^(h-1)) = 2^h.
 */
const decoysBetween = (cost: number, highest: number): string[] =>
  Array.from({ length: highest - cost }, (_, step) => dummyHash(cost + step))

/** `compare` is `matchesHash` (hash.ts) in another process. */
export function createPasswords(
  compare: (password: string, hash: string, decoys: readonly string[]) => Promise<boolean>,
): Passwords {
  return {
    async verifyPassword(hash, plain, failureCost) {
      const cost = hash === null ? null : costOf(hash)
      const highest = Math.max(cost ?? 0, failureCost)
      if (hash === null || cost === null || plain === null || faultOfPassword(plain) !== null) {
        await compare('no password', dummyHash(highest), [])
        return false
      }
      return compare(plain, readAsB(hash), decoysBetween(cost, highest))
    },
  }
}

/** The bcrypt hash of a password. Refuses one that bcrypt would truncate with `INVALID`; `password-policy.ts` has the rules for new ones. */
export async function hashPassword(plain: string): Promise<string> {
  const fault = faultOfPassword(plain)
  if (fault !== null) throw invalid('password', fault)
  // A gateway compares in its helper processes and creates no hash after its first start.
  const { makeHash } = await import('./hash.ts')
  return makeHash(plain, COST)
}
