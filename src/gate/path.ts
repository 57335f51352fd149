import { Refusal } from '../base/refusal.ts'

declare const canonical: unique symbol

/**
 * The path of a request, checked once. All later components read it the same way, because ambiguous paths are refused.
 * Only `readTarget` and `checkRewritten` make one.
 */
export type CanonicalPath = string & { readonly [canonical]: true }

export interface Target {
  path: CanonicalPath
  /** The query string as it arrived, with its `?`, or `''`. It decides nothing and is passed on byte for byte. */
  query: string
}

export const MAX_PATH_BYTES = 2048
const MAX_TARGET_BYTES = 8192

/**
 * RFC 3986 pchar without `;` (parameters are stripped by some servers), plus `/`; percent signs are checked separately.
 */
const PATH = /^\/(?:[A-Za-z0-9\-._~!$&'()*+,=:@/]|%[0-9A-Fa-f]{2})*$/
const VISIBLE_ASCII = /^[\x21-\x7e]*$/
const DOT_SEGMENT = /\/\.{1,2}(?:\/|$)/
/**
 * Characters that must not be escaped: controls, characters that split or end a path in some servers, and characters
 * that need no escape (RFC 3986 2.3).
 */
const HIDDEN = /[\x00-\x1f\x7f-\x9f./\\;?#%A-Za-z0-9\-_~]/

const badPath = (fault: string): Refusal => new Refusal('BAD_PATH', { params: { fault } })

/**
 * Reads a request target in origin form.
 * Throws the refusal `URI_TOO_LONG` or `BAD_PATH`; an ambiguous path is never repaired.
 */
export function readTarget(target: string): Target {
  if (target.length > MAX_TARGET_BYTES) throw new Refusal('URI_TOO_LONG')
  if (!VISIBLE_ASCII.test(target) || target.includes('#')) throw badPath('a character that no request target has')
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  if (path.length > MAX_PATH_BYTES) throw new Refusal('URI_TOO_LONG')
  return { path: judge(path), query: mark === -1 ? '' : target.slice(mark) }
}

/** Checks a path again after an upstream's rewrite. */
export function checkRewritten(path: string): CanonicalPath {
  if (path.length > MAX_PATH_BYTES) throw new Refusal('URI_TOO_LONG')
  return judge(path)
}

function judge(path: string): CanonicalPath {
  if (!path.startsWith('/')) throw badPath('no slash at the beginning')
  if (!PATH.test(path)) throw badPath('a character or escape that a path must not have')
  if (path.includes('//')) throw badPath('an empty segment')
  if (DOT_SEGMENT.test(path)) throw badPath('a dot segment')
  if (path.includes('%')) judgeEscapes(path)
  return path as CanonicalPath
}

function judgeEscapes(path: string): void {
  for (const escaped of path.match(/(?:%[0-9A-Fa-f]{2})+/g) ?? []) {
    let text: string
    try {
      text = decodeURIComponent(escaped)
    } catch {
      throw badPath('an escape that is not UTF-8')
    }
    if (HIDDEN.test(text)) throw badPath('an escape of a character that must not be escaped')
  }
  judgeLookAlikes(path)
  // A path that the URL standard reads differently could also be read differently behind the gateway.
  if (new URL(path, 'http://h').pathname !== path) throw badPath('a path that URL parsers read otherwise')
}

/** What "best fit" code pages turn into a slash or a backslash, and no compatibility form does. */
const BEST_FIT_SLASHES = /[\u2044\u2215\u2216]/

/**
 * Some servers replace characters by similar ones (Unicode's compatibility forms, "best fit" code pages) or drop spaces
 * at the ends of segments. If this created a slash, a backslash or a dot segment, they would use another path.
 */
function judgeLookAlikes(path: string): void {
  const text = decodeURIComponent(path)
  const folded = text.normalize('NFKC').replace(/\s/g, '')
  const slashes = folded.split('/').length - path.split('/').length
  if (slashes !== 0 || BEST_FIT_SLASHES.test(text) || folded.includes('\\') || DOT_SEGMENT.test(folded)) {
    throw badPath('an escape of what looks like a slash or a dot segment')
  }
}
