import { createNewPassword } from '../account/new-password.js'
import { copyButton } from '../account/recovery-codes.js'
import { h } from '../elements/dom.js'
import { choice } from '../elements/forms.js'
import { openShownOnce, shownOnce } from '../elements/shown-once.js'
import { encrypted } from '../encryption.js'
import { t } from '../language/language.js'

/**
 * The password that an administrator gives an account: created by the gateway, or typed here.
 *
 * @param {() => string} username
 */
export function passwordChoice(username) {
  const isTyped = h('input', { type: 'checkbox', id: 'type-password', onchange: draw })
  const mustChange = h('input', { type: 'checkbox', id: 'must-change', checked: true })
  const chosen = createNewPassword({ username, isOwn: false })
  const typing = h('div', {}, chosen.draw())
  const body = h(
    'div',
    {},
    h('p', { class: 'quiet' }, t('generated_detail')),
    choice(isTyped, t('type_password')),
    typing,
    choice(mustChange, t('must_change_at_login')),
  )
  let isShown = true
  draw()

  function draw() {
    body.hidden = !isShown
    typing.hidden = !isTyped.checked
    // What is not shown must not be required.
    for (const input of typing.querySelectorAll('input')) input.disabled = !isShown || !isTyped.checked
  }

  return {
    body: [body],
    /** @param {boolean} isWanted Whether the account has a password. */
    show(isWanted) {
      isShown = isWanted
      draw()
    },
    failed: chosen.failed,
    /** What is sent of it. */
    values: async () => ({
      must_change_password: mustChange.checked,
      ...(isTyped.checked && { password: await encrypted(chosen.value()) }),
    }),
  }
}

/**
 * Shows a password that the gateway has created. It is shown once, so only a confirmation closes the dialog.
 *
 * @param {string} name
 * @param {string} password
 */
export const showPassword = (name, password) =>
  openShownOnce(t('password_of', { user: name }), done =>
    shownOnce({
      body: [
        h('p', {}, t('password_once')),
        h('p', { class: 'secret' }, h('code', {}, password)),
        h('p', { class: 'buttons' }, copyButton(password)),
      ],
      kept: 'password_kept',
      done,
    }),
  )
