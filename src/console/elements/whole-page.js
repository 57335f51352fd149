import { t } from '../language/language.js'
import { h, mark } from './dom.js'

/**
 * A single message in the place of a page.
 *
 * @param {string} text
 * @param {...import('./dom.js').Child} beside What stands below it.
 */
export const wholePage = (text, ...beside) =>
  h('main', { class: 'whole-page' }, mark(), h('p', { role: 'alert' }, text), beside)

/** @param {() => unknown} again */
export const retryButton = again => h('button', { type: 'button', onclick: () => again() }, t('retry'))
