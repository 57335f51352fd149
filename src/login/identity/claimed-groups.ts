import { type Claims, claimOf } from '../../token/claim.ts'

export type GroupFault =
  /** The provider names another place where the groups are, instead of them: there are too many for a token. */
  | 'group-overage'
  /** The claim is neither a text nor a list of texts. */
  | 'group-form'

/**
 * The groups of a user: the texts of a claim, as they are; none if the claim is absent. Entra leaves the claim out of a token
 * that would get too large, and says so in `_claim_names` or `hasgroups`. The groups are unknown then, and are not read elsewhere.
 */
export function groupsIn(claims: Claims, claim: string): { groups: readonly string[] } | { refused: GroupFault } {
  const value = claimOf(claims, claim)
  if (value === undefined) return isOverage(claims) ? { refused: 'group-overage' } : { groups: [] }
  if (typeof value === 'string') return { groups: [value] }
  return Array.isArray(value) && value.every(item => typeof item === 'string')
    ? { groups: value }
    : { refused: 'group-form' }
}

const isOverage = (claims: Claims): boolean =>
  claimOf(claims, '_claim_names') !== undefined || (claimOf(claims, 'hasgroups') ?? false) !== false
