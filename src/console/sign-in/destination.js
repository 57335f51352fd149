/* Where the sign-in leads: an address of unknown origin, which must not lead away. */

/** Without its fragment, which no request carries. */
const MAX_LENGTH = 2048
/** What a form may have of a destination, encoded: the address that it comes back in has its limit, too (`http/pages/providers.ts`). */
const MAX_ENCODED = 3 * MAX_LENGTH
/** Browsers read a backslash as a slash, and leave control characters and spaces out. */
const TREACHEROUS = /[\\\s\u0000-\u0020\u007f-\u009f]/
/** Pages of the sign-in itself: to come back to one of them would be a loop, or a sign-out. */
const OWN_PAGE = /^\/+sign-(?:in|out)(?:\/|$)/i

/**
 * @param {string | null} to As it stands in the address of the page.
 * @param {{ own: string, origins: readonly string[], home: string }} where `own` is the origin of the page; `origins` are those to
 *   which the sign-in may lead besides; `home` is where it leads without a valid address.
 */
export function destinationOf(to, { own, origins, home }) {
  if (to === null || withoutFragment(to).length > MAX_LENGTH || TREACHEROUS.test(to) || !URL.canParse(to, own))
    return home
  const { origin, pathname } = new URL(to, own)
  const isPath = /^\/(?!\/)/.test(to)
  const allowed = isPath ? [own] : [own, ...origins].filter(one => to === one || to.startsWith(`${one}/`))
  if (!allowed.includes(origin)) return home
  return origin === own && OWN_PAGE.test(pathname) ? home : to
}

/**
 * The same address with the fragment of the page, which browsers keep over a redirect: the application may need it.
 *
 * @param {string} destination
 * @param {string} fragment As `location.hash`.
 */
export const withFragment = (destination, fragment) =>
  fragment === '' ? destination : withoutFragment(destination) + fragment

/** @param {string} address */
export const withoutFragment = address => address.replace(/#.*$/s, '')

/**
 * A destination as a form carries it to a provider and back: without a long fragment, and not at all where it is longer than a form may
 * be. Proxies have narrow limits for the answer that leads back: a fragment alone must not reach them.
 *
 * @param {string} destination
 */
export function carried(destination) {
  if (encodedLength(destination) <= MAX_LENGTH) return destination
  const page = withoutFragment(destination)
  return encodedLength(page) <= MAX_ENCODED ? page : ''
}

/** @param {string} to */
const encodedLength = to => new URLSearchParams({ to }).toString().length - 'to='.length
