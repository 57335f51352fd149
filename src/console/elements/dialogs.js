import { t } from '../language/language.js'
import { h, show } from './dom.js'
import { rememberFocus } from './focus.js'
import { actionForm, cancelButton, focusFirst } from './forms.js'

/** Dialogs so far: of several that are open, each has a title of its own. */
let opened = 0

/**
 * Opens a dialog. The browser keeps the focus in it and closes it with Escape.
 *
 * @param {object} options
 * @param {string} options.title
 * @param {boolean} [options.wide]
 * @param {Node[]} options.body
 * @param {boolean} [options.isClosable] Not where it shows something for the only time: its form closes it.
 * @returns {HTMLDialogElement}
 */
export function openDialog({ title, wide = false, body, isClosable = true }) {
  const titleId = `dialog-title-${++opened}`
  /** @type {HTMLDialogElement} */
  const dialog = h(
    'dialog',
    { class: wide ? 'wide' : null, 'aria-labelledby': titleId, closedby: isClosable ? null : 'none' },
    h(
      'header',
      {},
      h('h2', { id: titleId }, title),
      isClosable &&
        h('button', { type: 'button', class: 'close', 'aria-label': t('close'), onclick: () => dialog.close() }, '×'),
    ),
    ...body,
    h('p', { class: 'unseen said', role: 'status' }),
  )
  const giveBack = rememberFocus()
  const keepOpen = (/** @type {KeyboardEvent} */ event) => event.key === 'Escape' && event.preventDefault()
  dialog.addEventListener('close', () => {
    dialog.remove()
    document.removeEventListener('keydown', keepOpen)
    giveBack()
  })
  if (!isClosable) {
    // After a click on its text, the dialog does not have the focus. Browsers that know `closedby` need neither of these.
    document.addEventListener('keydown', keepOpen)
    dialog.addEventListener('cancel', event => event.preventDefault())
  }
  document.body.append(dialog)
  dialog.showModal()
  return dialog
}

/**
 * A dialog of several forms, one after the other.
 *
 * @param {string} title
 */
export function openForms(title) {
  const place = h('div', {})
  const dialog = openDialog({ title, body: [place] })
  return {
    cancel: cancelButton(() => dialog.close()),
    close: () => dialog.close(),
    /** @param {Node} form */
    show(form) {
      show(place, form)
      focusFirst(place)
    },
  }
}

/**
 * Leaves this document, once its user has kept what is shown for the only time.
 *
 * @param {() => void} leave
 */
export function onceKept(leave) {
  const dialog = [...document.querySelectorAll('dialog')].find(isOnlyTime)
  if (dialog === undefined) leave()
  else dialog.addEventListener('close', () => onceKept(leave), { once: true })
}

/** Whether what was typed in an open dialog would be lost with it. */
export const holdsTyped = () => document.querySelector('dialog:not([closedby="none"]) form[data-typed]') !== null

/** Whether a dialog shows something for the only time. */
const isOnlyTime = (/** @type {HTMLDialogElement} */ dialog) => dialog.getAttribute('closedby') === 'none'

/** Closes the open dialogs, because the page behind them has changed; but not what is shown for the only time. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll('dialog')) if (!isOnlyTime(dialog)) dialog.close()
}

/**
 * Runs an action that cannot be undone, after a confirmation.
 *
 * @param {object} options
 * @param {string} options.title
 * @param {string[]} options.details The paragraphs of the dialog.
 * @param {string} options.action The label of the button.
 * @param {string} [options.busy] Its label while the action runs.
 * @param {Node[]} [options.body]
 * @param {string} [options.fault] As that of `actionForm`.
 * @param {() => Promise<void | (() => void)>} options.run If it throws, the dialog stays open and shows the error. It may return what
 *   opens another dialog in the place of this one.
 * @param {() => unknown} [options.reload] As that of `actionForm`.
 */
export function confirm({ title, details, action, busy = action, body = [], fault, run, reload }) {
  const cancel = cancelButton(() => dialog.close())
  cancel.autofocus = true
  const form = actionForm({
    body: [...details.map(line => h('p', {}, line)), ...body],
    action,
    busy,
    look: 'danger',
    beside: [cancel],
    fault,
    reload,
    async run() {
      const next = await run()
      // First: the next dialog gives the focus back to what has it now.
      dialog.close()
      next?.()
    },
  })
  const dialog = openDialog({ title, body: [form.element] })
}
