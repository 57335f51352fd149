import { carried, withoutFragment } from './destination.js'

/*
 * The fragment of a destination that is too long for the way to a provider and back. It waits in the session storage of the tab: other
 * tabs want to go elsewhere.
 */

const KEY = 'dualgate.destination'

/**
 * Keeps what the form of a provider does not carry of a destination.
 *
 * @param {string} destination
 */
export function keepFragment(destination) {
  try {
    sessionStorage.removeItem(KEY)
    if (carried(destination) !== destination) sessionStorage.setItem(KEY, destination)
  } catch {
    // Without storage, the fragment is lost.
  }
}

/**
 * The fragment that was kept for a destination, once; empty without one.
 *
 * @param {string | null} carried The destination as the form carried it.
 */
export function takeFragment(carried) {
  try {
    const kept = sessionStorage.getItem(KEY)
    sessionStorage.removeItem(KEY)
    return kept !== null && withoutFragment(kept) === carried ? kept.slice(carried.length) : ''
  } catch {
    return ''
  }
}
