import { createHash } from 'node:crypto'
import { isLoginId } from '../../session/record.ts'

/** Begins the rest of a login id that holds a digest. A `sub` that begins so gets a digest, too: it would look like one. */
const HASHED = 'h:'

/**
 * The login id of a provider's user, whose account the claims are. The name of a provider has no colon, and a `sub` is kept as
 * it is or replaced as a whole: two users never share a login id, and one whose `sub` is written otherwise is another user.
 *
 * @param name of the provider
 * @param sub as the provider wrote it: well-formed and not empty
 */
export function loginIdOf(name: string, sub: string): string {
  const id = `${name}:${sub}`
  if (isLoginId(id) && !sub.startsWith(HASHED)) return id
  return `${name}:${HASHED}${createHash('sha256').update(sub).digest('base64url')}`
}
