import type { Filter } from '../../base/ldap/filter.ts'

/* What a directory is asked, and what it answers; without the library. */

/** An entry of a directory: its name, and the values of an attribute, in any case of letters; none where it is not there. */
export interface Entry {
  readonly dn: string
  values(attribute: string): readonly Buffer[]
}

/** The result of an operation that is not a success (RFC 4511, appendix A). */
export class DirectoryResult extends Error {
  readonly code: number
  /** What the server says about it. */
  readonly diagnostic: string
  /** Of a bind, what the password policy says: the password has expired, or too many wrong ones have locked the account. */
  readonly policy: 'expired' | 'locked' | undefined

  constructor(code: number, diagnostic: string, policy?: DirectoryResult['policy']) {
    super(`result ${code}${diagnostic === '' ? '' : `: ${diagnostic}`}`)
    this.name = 'Error'
    this.code = code
    this.diagnostic = diagnostic
    this.policy = policy
  }
}

/** invalidCredentials (RFC 4511, appendix A) */
export const INVALID_CREDENTIALS = 49

export interface Search {
  base: string
  scope: 'base' | 'sub'
  filter: Filter
  /** The attributes that are wanted. */
  attributes: readonly string[]
  /** How many entries are read at most. */
  limit: number
}

/** What a successful bind says about the password. */
export interface Bound {
  /** The directory accepts nothing but another password. */
  mustChange: boolean
}
