import { settings } from '../api.js'
import { h } from '../elements/dom.js'
import { actionForm, field, passwordInput, textInput } from '../elements/forms.js'
import { encrypted } from '../encryption.js'
import { faultText, t } from '../language/language.js'
import { createCaptcha, provedWork } from './captcha.js'

/** @typedef {import('./sign-in.js').Opening} Opening */

/**
 * The form of name, password and captcha.
 *
 * @param {string} device The name of the page in lists of sessions.
 * @param {() => import('../elements/dom.js').Child[]} [below] Other ways to sign in.
 * @returns {(opening: Opening) => HTMLElement}
 */
export const credentialsForm =
  (device, below = () => []) =>
  opening =>
    h('div', { class: 'sign-in' }, formOf(opening, device), below())

/**
 * Why a sign-in is necessary: who has signed out needs no alarm.
 *
 * @param {Pick<Opening, 'reason' | 'word' | 'isUnsaved'>} opening
 * @returns {{ told: HTMLElement | null, fault: string | null }}
 */
export function reasonOf({ reason, word, isUnsaved }) {
  if (reason === 'signed_out') return { told: h('p', { class: 'told', role: 'status' }, t(reason)), fault: null }
  const said = [reason !== null && t(reason), word !== null && t('failed_word', { word }), isUnsaved && t('unsaved')]
  return { told: null, fault: said.filter(Boolean).join(' ') || null }
}

/**
 * @param {Opening} opening
 * @param {string} device
 */
function formOf({ typed, failure, send, title, ...why }, device) {
  const keep = () => Object.assign(typed, { username: username.value.trim(), password: password.value })
  const username = textInput('username', { autocomplete: 'username', required: true, oninput: keep })
  const password = passwordInput('password', 'current-password', { oninput: keep })
  username.value = typed.username
  password.value = typed.password
  const captcha = textInput('captcha', { autocapitalize: 'characters', required: true, maxlength: 8 })
  /** The fault that is shown because there is no picture. */
  let missing = ''
  const picture = createCaptcha({
    failed(problem) {
      missing = faultText(problem)
      form.showFault(missing)
    },
    drawn() {
      form.clearFault(missing)
      missing = ''
    },
  })
  const read = field({ id: 'captcha', label: t('captcha'), input: captcha, beside: picture.button })
  const proof = proofChoice(isProved => {
    read.hidden = isProved
    captcha.disabled = isProved
    if (!isProved && picture.id() === '') void picture.draw()
  })
  const { problem } = failure
  const { told, fault } = problem === null ? reasonOf(why) : { told: null, fault: faultText(problem) }
  const form = actionForm({
    title: title(),
    body: [
      told,
      field({ id: 'username', label: t('username'), input: username }),
      field({ id: 'password', label: t('password'), input: password }),
      read,
      proof.element,
    ],
    action: t('sign_in'),
    busy: t('signing_in'),
    fault,
    async run() {
      keep()
      await send('login', {
        username: typed.username,
        password: await encrypted(typed.password),
        ...(proof.isChosen() ? await provedWork() : { captcha_id: picture.id(), captcha_value: captcha.value }),
        device_id: device,
      })
    },
    failed(problem) {
      failure.problem = problem
      told?.remove()
      if (proof.isChosen()) return password.focus()
      captcha.value = ''
      captcha.focus()
      void picture.draw()
    },
  })
  return form.element
}

/** Whether the user of this page has chosen a proof of work. Who cannot see one picture cannot see the next. */
let isProofChosen = false

/**
 * The choice between a picture and a proof of work, where the gateway accepts both.
 *
 * @param {(isChosen: boolean) => void} changed Called at once, too.
 */
function proofChoice(changed) {
  const isOffered = settings.captcha_alternative === 'proof-of-work'
  const text = h('p', { class: 'quiet', role: 'status' })
  const button = h('button', { type: 'button', class: 'link', 'data-key': 'captcha-kind', onclick: turn })
  const isChosen = () => isOffered && isProofChosen
  apply()

  function turn() {
    isProofChosen = !isProofChosen
    apply()
  }

  function apply() {
    text.hidden = !isChosen()
    text.textContent = isChosen() ? t('captcha_proof') : ''
    button.textContent = t(isChosen() ? 'captcha_can' : 'captcha_cannot')
    changed(isChosen())
  }

  return { element: isOffered && h('div', { class: 'captcha-kind' }, text, button), isChosen }
}
