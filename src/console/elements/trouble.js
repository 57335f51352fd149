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
  let isAsked = false
  const retry = () => {
    isAsked = true
    again()
  }
  return {
    element,
    clear: () => show(element),
    /** @param {unknown} problem */
    report(problem) {
      // An ended session has already led to the sign-in.
      if (session.handle === null) return
      const text = faultText(problem)
      // A screen reader has said it, and would say it again with every refresh.
      if (element.querySelector('span')?.textContent === text && !isAsked) return
      isAsked = false
      show(
        element,
        h('span', {}, text),
        h('button', { type: 'button', class: 'small', 'data-key': 'retry', onclick: retry }, t('retry')),
      )
    },
  }
}
