const SLASH = 0x2f

/** A target of no listener: every gate refuses it. */
const NO_PATH = '*'

/**
 * The target of a request in a form that the router can read. What it cannot read it would answer ahead of every hook: nothing would
 * log or count the request, or send its id. It cannot read an absolute form with a fragment or without an authority, nor escapes that
 * are no text. Each percent sign of such a path is escaped here, and every gate refuses the result as well.
 */
export function routableFormOf(target: string): string {
  if (target.charCodeAt(0) !== SLASH && (target.includes('#') || WITHOUT_AUTHORITY.test(target))) return NO_PATH
  return !target.includes('%') || isDecodable(target.split(/[?#]/, 1)[0]!) ? target : target.replaceAll('%', '%25')
}

const WITHOUT_AUTHORITY = /^https?:\/\/(?:[/?]|$)/i

function isDecodable(path: string): boolean {
  try {
    decodeURI(path)
    return true
  } catch {
    return false
  }
}
