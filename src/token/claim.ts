import { isPlainObject } from '../base/plain-object.ts'

/* Claims of an OpenID provider: JSON that another system has written. */

export type Claims = Readonly<Record<string, unknown>>

/** The claims of the e-mail address (OpenID Connect Core 1.0, 5.1): the second is about the first, beside which it stands. */
export const EMAIL = 'email'
export const EMAIL_VERIFIED = 'email_verified'

/**
 * A claim by its name, or by a path whose dots lead into objects. A claim whose own name has the dots, such as
 * `https://example.com/groups`, counts first. `undefined` without one; null is a claim that is absent.
 */
export function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name] ?? undefined
  const [, first, rest] = /^([^.]*)[.](.*)$/s.exec(name) ?? []
  const inner = first !== undefined && Object.hasOwn(claims, first) ? claims[first] : undefined
  return isPlainObject(inner) ? claimOf(inner, rest!) : undefined
}
