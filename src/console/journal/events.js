import { t } from '../language/language.js'
import { TEXTS } from '../language/texts.js'

/** The events that the gateway journals, in the order of the selection. */
export const EVENTS = Object.keys(TEXTS.en).flatMap(name => (name.startsWith('event_') ? [name.slice(6)] : []))

/**
 * A name of the gateway in words; the name itself if this page does not know it.
 *
 * @param {'event' | 'reason' | 'by'} kind
 * @param {string} name
 */
export function inWords(kind, name) {
  const text = `${kind}_${name}`
  return text in TEXTS.en ? t(/** @type {import('../language/language.js').TextName} */ (text)) : name
}
