import { type Claims, claimOf, EMAIL, EMAIL_VERIFIED } from '../token/claim.ts'

/** With which a provider says that claims are elsewhere. */
const ABOUT_CLAIMS = ['_claim_names', 'hasgroups']

/** Of the wanted claims those that the ID token does not have. */
export const missingIn = (claims: Claims, wanted: readonly string[]): string[] =>
  wanted.filter(name => claimOf(claims, name) === undefined)

/** The claims of the ID token, and those of these names from userinfo. */
export function completed(claims: Claims, userinfo: Claims, names: readonly string[]): Claims {
  const found = names.filter(name => claimOf(userinfo, name) !== undefined).map(name => ownName(userinfo, name))
  const about = ABOUT_CLAIMS.filter(name => Object.hasOwn(userinfo, name) && !Object.hasOwn(claims, name))
  const all: Claims = { ...claims, ...Object.fromEntries([...found, ...about].map(name => [name, userinfo[name]])) }
  if (!names.includes(EMAIL) && !names.includes(EMAIL_VERIFIED)) return all
  const beside = all[EMAIL] === userinfo[EMAIL] ? userinfo : claims
  return { ...all, [EMAIL_VERIFIED]: beside[EMAIL_VERIFIED] }
}

/** The claim that has it, or in which it is. */
const ownName = (claims: Claims, name: string): string => (Object.hasOwn(claims, name) ? name : name.split('.')[0]!)
