import { createAddressList, isAddress } from './address-list.ts'
import { isPattern } from './exceptions.ts'

/** A rule about client addresses as it is written in the configuration: with one of the lists, or both. */
export interface WrittenAccess {
  path: string
  allow?: readonly string[] | undefined
  deny?: readonly string[] | undefined
}

/** Which client addresses may call some paths. */
export interface AccessRule extends WrittenAccess {
  covers(path: string): boolean
  /** Whether a client may call these paths; its address is `null` if it is not known. */
  admits(address: string | null): boolean
}

const EVERYTHING = '/*'

/** Whether a text can be the path of a rule: as an exception's, or every path. */
export const isAccessPattern = (text: string): boolean => text === EVERYTHING || isPattern(text)

/**
 * The form in which paths are compared. A backend may ignore case and a slash at the end; so all spellings that it could
 * read as the same path have the same rule.
 */
const folded = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path).toLowerCase()

/** Whether a pattern covers a path, or all of what another pattern covers. `/a/*` covers `/a` too. */
export function coversPath(pattern: string, other: string): boolean {
  if (!pattern.endsWith('/*')) return folded(pattern) === folded(other)
  const base = folded(pattern.slice(0, -1))
  const path = folded(other.endsWith('/*') ? other.slice(0, -1) : other)
  return path === base || path.startsWith(`${base}/`)
}

/** The rules in their order. Of an unknown address nothing can be said, so no rule admits it. */
export const createAccess = (written: readonly WrittenAccess[]): readonly AccessRule[] =>
  written.map(({ path, allow, deny }) => {
    const isAllowed = allow === undefined ? () => true : createAddressList(allow)
    const isDenied = createAddressList(deny ?? [])
    return {
      path,
      allow,
      deny,
      covers: asked => coversPath(path, asked),
      admits: address => address !== null && isAddress(address) && isAllowed(address) && !isDenied(address),
    }
  })
