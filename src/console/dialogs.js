import { h } from './dom.js'
import { faultText, t } from './language.js'

/**
 * Opens a dialog; the browser keeps the focus in it, and closes it with Escape.
 *
 * @param {{ title: string, wide?: boolean, body: Node[] }} options
 * @returns {HTMLDialogElement}
 */
export function openDialog({ title, wide = false, body }) {
  /** @type {HTMLDialogElement} */
  const dialog = h(
    'dialog',
    { class: wide ? 'wide' : null, 'aria-labelledby': 'dialog-title' },
    h(
      'header',
      {},
      h('h2', { id: 'dialog-title' }, title),
      h('button', { type: 'button', class: 'close', 'aria-label': t('close'), onclick: () => dialog.close() }, '×'),
    ),
    ...body,
  )
  const opener = document.activeElement
  dialog.addEventListener('close', () => {
    dialog.remove()
    if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true })
  })
  document.body.append(dialog)
  dialog.showModal()
  return dialog
}

/** Closes whatever is open: behind it there is another page now. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll('dialog')) dialog.close()
}

/**
 * Asks before something that cannot be taken back, and does it.
 *
 * @param {object} options
 * @param {string} options.title
 * @param {string[]} options.why
 * @param {string} options.action What the button says.
 * @param {Node[]} [options.body]
 * @param {() => Promise<void>} options.run The dialog stays open, and says why, when it throws.
 */
export function confirm({ title, why, action, body = [], run }) {
  const fault = h('p', { class: 'fault', role: 'alert', hidden: true })
  const go = h('button', { type: 'submit', class: 'danger' }, action)
  const form = h(
    'form',
    { onsubmit: attempt },
    why.map(line => h('p', {}, line)),
    body,
    fault,
    h('footer', {}, h('button', { type: 'button', onclick: () => dialog.close(), autofocus: true }, t('cancel')), go),
  )
  const dialog = openDialog({ title, body: [form] })

  /** @param {SubmitEvent} event */
  async function attempt(event) {
    event.preventDefault()
    if (go.disabled) return
    go.disabled = true
    try {
      await run()
      dialog.close()
    } catch (problem) {
      fault.textContent = faultText(problem)
      fault.hidden = false
      go.disabled = false
    }
  }
}
