import { isPlainObject } from '../base/plain-object.ts'

type Claims = Readonly<Record<string, unknown>>

/**
 * A claim by its name; `undefined` for none. A dot leads into an object, as in `realm_access.roles`, but a claim whose own name has
 * the dots, such as `https://example.com/groups`, counts first.
 */
export function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  const dot = name.indexOf('.')
  if (dot === -1) return undefined
  const [first, rest] = [name.slice(0, dot), name.slice(dot + 1)]
  const inner = Object.hasOwn(claims, first) ? claims[first] : undefined
  return isPlainObject(inner) ? claimAt(inner, rest) : undefined
}

/** With which a provider says that claims are elsewhere. */
const ABOUT_CLAIMS = ['_claim_names', 'hasgroups']

/** Of the wanted claims those that the ID token does not have. */
export const missingIn = (claims: Claims, wanted: readonly string[]): string[] =>
  wanted.filter(name => claimAt(claims, name) === undefined)

/** The claims of the ID token, and those of these names from userinfo. */
export function completed(claims: Claims, userinfo: Claims, names: readonly string[]): Claims {
  const found = names.filter(name => claimAt(userinfo, name) !== undefined).map(name => ownName(userinfo, name))
  const about = ABOUT_CLAIMS.filter(name => Object.hasOwn(userinfo, name) && !Object.hasOwn(claims, name))
  return { ...claims, ...Object.fromEntries([...found, ...about].map(name => [name, userinfo[name]])) }
}

/** The claim that has it, or in which it is. */
const ownName = (claims: Claims, name: string): string => (Object.hasOwn(claims, name) ? name : name.split('.')[0]!)
