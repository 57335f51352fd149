import { createNewPassword } from '../account/new-password.js'
import { copyButton } from '../account/recovery-codes.js'
import { openDialog } from '../elements/dialogs.js'
import { h } from '../elements/dom.js'
import { choice } from '../elements/forms.js'
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
  const typing = h('div', {}, chosen.body)
  draw()

  function draw() {
    typing.hidden = !isTyped.checked
    for (const input of typing.querySelectorAll('input')) input.disabled = typing.hidden
  }

  return {
    body: [
      h('p', { class: 'quiet' }, t('generated_detail')),
      choice(isTyped, t('type_password')),
      typing,
      choice(mustChange, t('must_change_at_login')),
    ],
    failed: chosen.failed,
    /** What is sent of it. */
    values: async () => ({
      must_change_password: mustChange.checked,
      ...(isTyped.checked && { password: await encrypted(chosen.value()) }),
    }),
  }
}

/**
 * Shows a password that the gateway has created.
 *
 * @param {string} name
 * @param {string} password
 */
export function showPassword(name, password) {
  const dialog = openDialog({
    title: t('password_of', { user: name }),
    body: [
      h('p', {}, t('password_once')),
      h('p', { class: 'secret' }, h('code', {}, password)),
      h(
        'footer',
        {},
        copyButton(password),
        h('button', { type: 'button', class: 'primary', onclick: () => dialog.close() }, t('close')),
      ),
    ],
  })
}
