import { t } from '../language/language.js'
import { openDialog } from './dialogs.js'
import { h } from './dom.js'
import { actionForm, choice } from './forms.js'

/**
 * Something that is shown once, to print or copy. Its user confirms that it is kept before the page goes on.
 *
 * @param {{ body: import('./dom.js').Child[], kept: import('../language/language.js').TextName, done: () => void }} options
 *   `kept` is what the user confirms.
 */
export function shownOnce({ body, kept, done }) {
  const isKept = h('input', { type: 'checkbox', id: 'is-kept', required: true })
  return actionForm({
    body: [...body, choice(isKept, t(kept))],
    action: t('continue'),
    run: async () => done(),
  }).element
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
