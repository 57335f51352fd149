import { type Claims, claimOf, EMAIL, EMAIL_VERIFIED } from '../../token/claim.ts'

export type EmailFault =
  | 'email-missing'
  /** `email_verified` is anything else than true. */
  | 'email-unverified'
  /** It is not an address with exactly one @. */
  | 'email-form'

export const isEmail = (claim: string): boolean => claim === EMAIL

/** One @, and a domain of ASCII: other letters have small forms that are ASCII, and would equal another domain. */
const ADDRESS = /^[^\s@\p{Cc}\p{Cs}]+@([A-Za-z0-9.-]+)$/u

/** The e-mail address of a user as the provider wrote it, with its domain in lower case, if the provider has verified it. */
export function emailIn(claims: Claims): { address: string; domain: string } | { refused: EmailFault } {
  const address = claimOf(claims, EMAIL)
  if (address === undefined || address === '') return { refused: 'email-missing' }
  if (claimOf(claims, EMAIL_VERIFIED) !== true) return { refused: 'email-unverified' }
  const domain = typeof address === 'string' && address.length <= MAX_LENGTH ? ADDRESS.exec(address)?.[1] : undefined
  return domain === undefined ? { refused: 'email-form' } : { address: String(address), domain: domain.toLowerCase() }
}

/** RFC 5321, 4.5.3.1.3: a path of 256 with its brackets. */
const MAX_LENGTH = 254
