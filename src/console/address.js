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

let opened = () => {}

/**
 * @param {() => void} listener Called when another page is opened, or the same page with another content.
 */
export function onAddress(listener) {
  opened = listener
  window.addEventListener('hashchange', listener)
}

/**
 * Opens another page, or the same page with another content. It is drawn before this returns: were it drawn only when the
 * browser tells of the new address, what is typed meanwhile would go to fields that are about to be replaced.
 *
 * @param {string} name
 * @param {Record<string, string>} [query]
 */
export function go(name, query) {
  const address = addressOf(name, query)
  if (address === location.hash) return
  history.pushState(null, '', address)
  opened()
}
