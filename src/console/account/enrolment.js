import { CallError } from '../api.js'
import { h } from '../elements/dom.js'
import { field, textInput } from '../elements/forms.js'
import { t } from '../language/language.js'

/** @typedef {{ secret: string, uri: string, qr: string }} NewFactor */

/**
 * What an authenticator app needs for a new second factor: a picture to scan, the same as text, and a link for the device that
 * shows this page.
 *
 * @param {NewFactor} factor
 */
export const enrolment = ({ secret, uri, qr }) => [
  h('img', { class: 'qr', src: qr, alt: t('qr_alt'), width: 200, height: 200 }),
  h('p', { class: 'quiet' }, t('secret_detail')),
  h('p', { class: 'secret' }, h('code', {}, secret.replace(/(.{4})(?=.)/g, '$1 '))),
  // Another scheme would be something else than an app's.
  uri.startsWith('otpauth:') && h('p', { class: 'on-phone' }, h('a', { href: uri }, t('open_app'))),
]

/**
 * What the user can do after the confirmation of a new second factor has failed. The recovery codes are in its answer only.
 *
 * @param {unknown} problem
 * @param {ReturnType<typeof codeField>} code
 */
export function notTurnedOn(problem, code) {
  code.clear()
  return problem instanceof CallError && problem.own === 'unsure' ? t('unsure_factor') : undefined
}

/**
 * The field for the code of an app, and where the account has one already, for a recovery code instead. It keeps what was typed when
 * it is drawn again.
 *
 * @param {string} id
 * @param {{ allowsRecovery?: boolean }} [options]
 */
export function codeField(id, { allowsRecovery = false } = {}) {
  const input = textInput(id, { required: true, autocomplete: 'one-time-code', maxlength: 40, class: 'code' })
  // Recovery codes have letters.
  if (!allowsRecovery) input.inputMode = 'numeric'
  return {
    draw: () =>
      field({
        id,
        label: t(allowsRecovery ? 'code_or_recovery' : 'code'),
        hint: t(allowsRecovery ? 'code_or_recovery_hint' : 'code_hint'),
        input,
      }),
    value: () => input.value.trim(),
    clear() {
      input.value = ''
      input.focus()
    },
  }
}
