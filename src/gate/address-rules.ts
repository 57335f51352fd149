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

export const EVERYTHING = '/*'

/** Whether a text can be the path of a rule: as an exception's, or every path. */
export const isAccessPattern = (text: string): boolean => text === EVERYTHING || isPattern(text)

/**
 * Dots at the end of a segment. A canonical path has no segment of one or two dots alone. A match begins at the first of several dots:
 * tried at each of them, a path of two thousand dots would take milliseconds.
 */
const LAST_DOTS = /(?<!\.)\.+(?=\/|$)/g

/**
 * The form in which paths are compared. A backend may ignore case and a slash at the end, replace characters by similar ones
 * (Unicode's compatibility forms), and drop spaces, or dots at the end of a segment; so all spellings that it could read as
 * the same path have the same rule.
 */
export function folded(path: string): string {
  const read = path.includes('%') ? withoutLookAlikes(decodeURIComponent(path)) : path
  const plain = read.replace(LAST_DOTS, '')
  return (plain.endsWith('/') ? plain.slice(0, -1) : plain).toLowerCase()
}

/**
 * Upper case too: it makes ASCII letters of others, such as the dotless i, and so Java and Python take them for the same. The i
 * with a dot above is one letter in lower case there, and two in JavaScript.
 */
const withoutLookAlikes = (text: string): string =>
  text.normalize('NFKC').replace(/\s/g, '').toLowerCase().replaceAll('i\u0307', 'i').toUpperCase()

/** Whether folding changes nothing but a slash at the end: quicker than `folded`, and so for nearly all paths. */
export const isFolded = (path: string): boolean => !FOLDABLE.test(path)

const FOLDABLE = /[A-Z%]|\.(?:\/|$)/

/**
 * Tells whether a pattern covers a path in any spelling, or all of what another pattern covers. `/a/*` covers `/a` too. `formats`
 * says whether it covers `/a.json` as well: some routers, such as that of Rails, answer it as `/a` in another format.
 */
export function createCover(pattern: string, formats = true): (other: string) => boolean {
  const isOpen = pattern.endsWith('/*')
  const base = folded(isOpen ? pattern.slice(0, -1) : pattern)
  const below = `${base}/`
  const isFormat = (path: string): boolean =>
    formats && path.startsWith(`${base}.`) && path.lastIndexOf('/') < base.length
  return other => {
    const isPattern = isOpen && other.endsWith('/*')
    const path = folded(isPattern ? other.slice(0, -1) : other)
    return path === base || (isOpen && path.startsWith(below)) || (!isPattern && isFormat(path))
  }
}

/** The same for a pattern that is compared once. */
export const coversPath = (pattern: string, other: string): boolean => createCover(pattern)(other)

/** The rules in their order. Of an unknown address nothing can be said, so no rule admits it. */
export const createAccess = (written: readonly WrittenAccess[]): readonly AccessRule[] =>
  written.map(({ path, allow, deny }) => {
    const isAllowed = allow === undefined ? () => true : createAddressList(allow)
    const isDenied = createAddressList(deny ?? [])
    return {
      path,
      allow,
      deny,
      covers: createCover(path),
      admits: address => address !== null && isAddress(address) && isAllowed(address) && !isDenied(address),
    }
  })
