import { CallError } from '../api.js'
import { faultText, t } from '../language/language.js'
import { askBeforeLoss } from './before-loss.js'
import { h, notify } from './dom.js'

/**
 * A labelled input, with an optional hint below it.
 *
 * @param {object} options
 * @param {string} options.id
 * @param {string} options.label
 * @param {string} [options.hint]
 * @param {HTMLElement} options.input
 * @param {import('./dom.js').Child} [options.beside] Something to the right of the input, such as a button.
 */
export function field({ id, label, hint, input, beside }) {
  if (hint !== undefined) input.setAttribute('aria-describedby', `${id}-hint`)
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    beside === undefined ? input : h('div', { class: 'beside' }, input, beside),
    hint !== undefined && h('p', { class: 'hint', id: `${id}-hint` }, hint),
  )
}

/**
 * @param {string} id
 * @param {import('./dom.js').Attributes} [attributes]
 */
export const textInput = (id, attributes = {}) =>
  h('input', { id, name: id, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none', ...attributes })

/**
 * A field for several lines.
 *
 * @param {string} id
 */
export const areaInput = id =>
  h('textarea', { id, name: id, rows: 2, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none' })

/**
 * @param {string} id
 * @param {'current-password' | 'new-password'} autocomplete
 * @param {import('./dom.js').Attributes} [attributes]
 */
export const passwordInput = (id, autocomplete, attributes = {}) =>
  h('input', { id, name: id, type: 'password', required: true, autocomplete, ...attributes })

/**
 * A box to tick, with its label.
 *
 * @param {HTMLInputElement} input
 * @param {string} label
 */
export const choice = (input, label) => h('label', { class: 'choice' }, input, label)

/**
 * @typedef {object} ActionForm
 * @property {import('./dom.js').Child[]} [title] What stands above the body.
 * @property {import('./dom.js').Child[]} body
 * @property {string} action The label of the button.
 * @property {string} [busy] The label while the action runs.
 * @property {'primary' | 'danger'} [look]
 * @property {string} [class]
 * @property {import('./dom.js').Child[]} [beside] Other buttons, before the one of the action.
 * @property {string | null | undefined} [fault] A fault to show from the beginning.
 * @property {() => Promise<void>} run If it throws, the form shows the error.
 * @property {(problem: unknown) => string | undefined | void} [failed] Called before the error is shown. It may return a better text for it.
 * @property {(() => unknown) | undefined} [reload] Loads again what stands behind the form, when the action has ended. Also after a
 *   failure: an action whose answer is lost may have been done, and what another user has done in the meantime may be why one
 *   was refused.
 */

/**
 * A form that runs an action, once at a time. Who has closed it meanwhile reads a fault in a message.
 *
 * @param {ActionForm} options
 */
export function actionForm({ title, body, action, busy, look = 'primary', beside = [], run, failed, reload, ...rest }) {
  const fault = h('p', { class: 'fault', role: 'alert', hidden: (rest.fault ?? null) === null }, rest.fault)
  const submit = h('button', { type: 'submit', class: look, onclick: refuseSecondClick }, action)
  const element = h(
    'form',
    { class: rest.class, onsubmit: attempt },
    title !== undefined && h('header', {}, title),
    body,
    fault,
    h('footer', {}, beside, submit),
  )
  element.addEventListener('input', markTyped, { once: true })
  return { element, showFault, clearFault }

  function markTyped() {
    if (element.closest('dialog') === null) return
    element.dataset.typed = ''
    askBeforeLoss(element)
  }

  /** @param {string} text */
  function showFault(text) {
    fault.textContent = text
    fault.hidden = false
    // It stands below fields that may fill the window.
    fault.scrollIntoView({ block: 'nearest' })
  }

  /** @param {string} text Another fault that is shown meanwhile stays. */
  function clearFault(text) {
    if (fault.textContent === text) fault.hidden = true
  }

  /** @param {SubmitEvent} event */
  async function attempt(event) {
    event.preventDefault()
    if (isRunning(submit)) return
    setRunning(submit, true)
    submit.textContent = busy ?? action
    try {
      await run()
      fault.hidden = true
      await reload?.()
    } catch (problem) {
      const text = failed?.(problem) ?? faultText(problem)
      showFault(text)
      if (hasEnded(problem)) return
      if (!element.isConnected) notify(text)
      if (problem instanceof CallError) reload?.()
    } finally {
      setRunning(submit, false)
      submit.textContent = action
    }
  }
}

/** @param {HTMLButtonElement} button */
const isRunning = button => button.getAttribute('aria-disabled') === 'true'

/**
 * While the action of a button runs, it looks disabled. A button that is disabled loses the focus.
 *
 * @param {HTMLButtonElement} button
 * @param {boolean} running
 */
const setRunning = (button, running) => button.setAttribute('aria-disabled', String(running))

/**
 * What a click on a button does, once at a time. A fault becomes a message.
 *
 * @param {() => Promise<void>} run
 * @param {ActionForm['reload']} [reload] As that of `actionForm`.
 * @returns {(click: { currentTarget: HTMLButtonElement }) => Promise<void>}
 */
export const onceAtATime =
  (run, reload) =>
  async ({ currentTarget: button }) => {
    if (isRunning(button)) return
    setRunning(button, true)
    try {
      await run()
      await reload?.()
    } catch (problem) {
      notify(faultText(problem))
      if (problem instanceof CallError && !hasEnded(problem)) reload?.()
    } finally {
      setRunning(button, false)
    }
  }

/** The second click of a double click was meant for what has opened the form, at the same place. */
export const refuseSecondClick = (/** @type {MouseEvent} */ event) => event.detail > 1 && event.preventDefault()

/** An ended session has already led to the sign-in, which says so. */
const hasEnded = (/** @type {unknown} */ problem) => problem instanceof CallError && problem.code === 401

/**
 * Sends the focus to the first input of a form or dialog.
 *
 * @param {Element} place
 */
export function focusFirst(place) {
  const first = place.querySelector('form :is(input:not([type="checkbox"], [tabindex="-1"]), select, button)')
  if (first instanceof HTMLElement) first.focus()
}

/** @param {() => void} close */
export const cancelButton = close => h('button', { type: 'button', onclick: close }, t('cancel'))
