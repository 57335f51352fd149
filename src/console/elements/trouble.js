import { faultText, t } from '../language/language.js'
import { session } from '../session.js'
import { h, show } from './dom.js'

/**
 * Where a page reports that it could not load, with a button to try again.
 *
 * @param {() => void} again
 */
export function createTrouble(again) {
  const element = h('div', { class: 'trouble', role: 'alert' })
  return {
    element,
    clear: () => show(element),
    /** @param {unknown} problem */
    report(problem) {
      // An ended session has already led to the sign-in.
      if (session.handle === null) return
      show(
        element,
        h('span', {}, faultText(problem)),
        h('button', { type: 'button', class: 'small', 'data-key': 'retry', onclick: again }, t('retry')),
      )
    },
  }
}
