import { TEXTS } from '../language/texts.js'

/* How a sign-in by a provider has ended, as the gateway writes it into the address of the page. */

/**
 * @typedef {{ kind: 'none' } | { kind: 'arrived' } | { kind: 'failed', word: string } | { kind: 'step', name: string }} Arrival
 *   `arrived`: the browser got the cookie of a session. `word`: why it failed.
 */

/** @typedef {import('../language/language.js').TextName} TextName */

const PARAMETERS = ['arrived', 'failed', 'step']

/**
 * @param {URLSearchParams} parameters
 * @returns {Arrival}
 */
export function arrivalIn(parameters) {
  const [failed, step] = [parameters.get('failed'), parameters.get('step')]
  if (step !== null) return { kind: 'step', name: step }
  if (failed !== null) return { kind: 'failed', word: failed }
  return { kind: parameters.has('arrived') ? 'arrived' : 'none' }
}

/**
 * The address without them: a reload, or a tab that the browser restores, would repeat what is over. The fragment is not that
 * of the wanted page, but one that a provider has added.
 *
 * @param {URLSearchParams} parameters
 */
export function withoutArrival(parameters) {
  const rest = new URLSearchParams([...parameters].filter(([name]) => !PARAMETERS.includes(name)))
  return rest.size === 0 ? location.pathname : `?${rest}`
}

/** The words that share a text, because their users can do the same. */
const SHARED = new Map([
  ['unknown-state', 'expired'],
  ['used-state', 'expired'],
  ['code-refused', 'expired'],
  ['token-expired', 'expired'],
  ['email-missing', 'email-required'],
  ['email-form', 'email-required'],
])

/**
 * What a user can do about a failed sign-in.
 *
 * @param {string} word As the gateway names it; a later version may have others.
 * @returns {TextName}
 */
export function failedText(word) {
  if (word === 'ended-at-provider') return 'because_provider-logout'
  const group = SHARED.get(word) ?? word
  const name = `failed_${group}`
  return Object.hasOwn(TEXTS.en, name) ? /** @type {TextName} */ (name) : 'failed_sign_in'
}

/**
 * The word that an administrator can search for; `null` if it is not one of the gateway's.
 *
 * @param {string} word
 */
export const shownWord = word => (/^[a-z-]{1,40}$/.test(word) ? word : null)
