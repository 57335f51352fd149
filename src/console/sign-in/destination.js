/* Where the sign-in leads: an address of unknown origin, which must not lead away. */

const MAX_LENGTH = 2048
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
  if (to === null || to.length > MAX_LENGTH || TREACHEROUS.test(to) || !URL.canParse(to, own)) return home
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
  fragment === '' ? destination : destination.replace(/#.*$/s, '') + fragment
