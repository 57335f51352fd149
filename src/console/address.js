/*
 * The address of a page stands behind the `#` of the URL: its name and what it shows, as in `#journal?login_id=7`. A new
 * address is an entry of the browser's history, so the back button works, and a reload shows the same again.
 */

/** @typedef {{ name: string, query: Readonly<Record<string, string>> }} Address */

/** @returns {Address} The address in the URL; an empty name if it has none. */
export function currentAddress() {
  const [name = '', query = ''] = location.hash.slice(1).split('?')
  return { name, query: Object.fromEntries(new URLSearchParams(query)) }
}

/**
 * @param {string} name
 * @param {Record<string, string>} [query] Empty values are left out.
 */
export function addressOf(name, query = {}) {
  const text = String(new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')))
  return text === '' ? `#${name}` : `#${name}?${text}`
}

/**
 * Opens another page, or the same page with another content.
 *
 * @param {string} name
 * @param {Record<string, string>} [query]
 */
export function go(name, query) {
  location.hash = addressOf(name, query)
}
