import { get, post, settings } from '../api.js'
import { h, mark, show } from '../elements/dom.js'
import { faultText, t } from '../language/language.js'
import { begin } from '../session.js'

/**
 * Shows the sign-in form.
 *
 * @param {Element} place
 * @param {{ reason: string | null, choices: Node, done: () => void }} options `reason` tells the user why a new
 *   sign-in is necessary; `choices` are language and theme.
 */
export function showSignIn(place, { reason, choices, done }) {
  const picture = createPicture(showError)
  const username = field('username', { autocomplete: 'username' })
  const password = field('password', { type: 'password', autocomplete: 'current-password' })
  const captcha = field('captcha', {
    autocomplete: 'off',
    autocapitalize: 'characters',
    spellcheck: 'false',
    maxlength: 8,
  })
  const fault = h('p', { class: 'fault', role: 'alert', hidden: reason === null }, reason)
  const submit = h('button', { type: 'submit', class: 'primary' }, t('sign_in'))
  const form = h(
    'form',
    { class: 'sign-in', onsubmit: send },
    h('div', { class: 'sign-in-title' }, mark(), h('div', {}, h('h1', {}, 'dualgate'), h('p', {}, t('sign_in_intro')))),
    fault,
    labelled('username', username),
    labelled('password', password),
    h('div', { class: 'captcha-row' }, labelled('captcha', captcha), picture.button),
    submit,
  )
  show(place, h('main', { class: 'sign-in-page' }, form, h('div', { class: 'sign-in-choices' }, choices)))
  username.focus()
  void picture.draw()

  /** @param {SubmitEvent} event */
  async function send(event) {
    event.preventDefault()
    if (submit.disabled) return
    submit.disabled = true
    submit.textContent = t('signing_in')
    try {
      const { token } = await post('public/b/login', {
        username: username.value.trim(),
        password: await encrypted(password.value),
        captcha_id: picture.id(),
        captcha_value: captcha.value,
        device_id: 'dualgate console',
      })
      begin(token)
      done()
    } catch (problem) {
      showError(faultText(problem))
      captcha.value = ''
      captcha.focus()
      void picture.draw()
    } finally {
      submit.disabled = false
      submit.textContent = t('sign_in')
    }
  }

  /** @param {string} text */
  function showError(text) {
    fault.textContent = text
    fault.hidden = false
  }
}

/**
 * The picture of a captcha, on a button that requests another one.
 *
 * @param {(text: string) => void} showError
 */
function createPicture(showError) {
  let captchaId = ''
  let drawings = 0
  const picture = h('img', { alt: '', width: 150, height: 57, hidden: true })
  const label = t('captcha_another')
  const button = h(
    'button',
    { type: 'button', class: 'captcha', title: label, 'aria-label': label, onclick: draw },
    picture,
  )

  async function draw() {
    captchaId = ''
    picture.hidden = true
    const drawing = ++drawings
    try {
      const { captcha_id, captcha_base64 } = await get('public/b/captcha')
      // Meanwhile another picture was requested.
      if (drawing !== drawings) return
      captchaId = captcha_id
      picture.src = captcha_base64
      picture.hidden = false
    } catch (problem) {
      showError(faultText(problem))
    }
  }

  return { button, draw, id: () => captchaId }
}

/**
 * Encrypts a password as the gateway expects it: SM2, cipher mode C1C3C2.
 *
 * @param {string} plain
 * @returns {Promise<string>}
 */
async function encrypted(plain) {
  const publicKey = await get(settings.sm2_public_key_path.slice(1))
  return /** @type {any} */ (globalThis).sm2.doEncrypt(plain, publicKey, 1)
}

/**
 * @param {string} name
 * @param {import('../elements/dom.js').Attributes} attributes
 */
const field = (name, attributes) => h('input', { id: name, name, required: true, ...attributes })

/**
 * @param {'username' | 'password' | 'captcha'} name
 * @param {HTMLElement} input
 */
const labelled = (name, input) => h('div', { class: 'field' }, h('label', { for: name }, t(name)), input)
