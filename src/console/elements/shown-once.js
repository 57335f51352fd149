import { t } from '../language/language.js'
import { askBeforeLoss } from './before-loss.js'
import { openDialog } from './dialogs.js'
import { h } from './dom.js'
import { actionForm, choice } from './forms.js'

/**
 * Something that is shown once, to print or copy. Its user confirms that it is kept before the page goes on.
 *
 * @param {{ body: import('./dom.js').Child[], kept: import('../language/language.js').TextName, done: () => unknown }} options
 *   `kept` is what the user confirms.
 */
export function shownOnce({ body, kept, done }) {
  const isKept = h('input', { type: 'checkbox', id: 'is-kept', required: true })
  const { element } = actionForm({
    body: [...body, choice(isKept, t(kept))],
    action: t('continue'),
    async run() {
      stopAsking()
      await done()
    },
  })
  const stopAsking = askBeforeLoss(element)
  return element
}

/**
 * The same in a dialog, which only the confirmation closes.
 *
 * @param {string} title
 * @param {(done: () => void) => HTMLElement} form
 */
export function openShownOnce(title, form) {
  const dialog = openDialog({ title, body: [form(() => dialog.close())], isClosable: false })
}
