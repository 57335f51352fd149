import { post, serves } from '../api.js'
import { openDialog } from '../elements/dialogs.js'
import { h, notify } from '../elements/dom.js'
import { actionForm, cancelButton, field, passwordInput } from '../elements/forms.js'
import { encrypted } from '../encryption.js'
import { count } from '../language/format.js'
import { t } from '../language/language.js'
import { createNewPassword } from './new-password.js'

/**
 * @param {import('./account.js').Account} account
 * @param {() => void} changed
 */
export function passwordPanel({ username, password_changed_at: since }, changed) {
  const change = () => openChange(username ?? '', changed)
  return h(
    'section',
    { class: 'panel' },
    h('h2', {}, t('password')),
    since === null
      ? h('p', { class: 'advice' }, t('password_never_changed'))
      : h('p', { class: 'quiet' }, t('password_changed_at', { time: since })),
    h(
      'p',
      { class: 'buttons' },
      h(
        'button',
        { type: 'button', class: since === null ? 'primary' : null, 'data-key': 'change-password', onclick: change },
        `${t('change_password')}…`,
      ),
    ),
  )
}

/**
 * @param {string} username
 * @param {() => void} changed
 */
function openChange(username, changed) {
  const current = passwordInput('current-password', 'current-password', { autofocus: true })
  const chosen = createNewPassword({ username, current: () => current.value })
  current.addEventListener('input', chosen.drawRules)
  const form = actionForm({
    body: [
      h('p', { class: 'quiet' }, t('change_password_detail')),
      serves('b/account/keys') && h('p', { class: 'quiet' }, t('keys_stay')),
      field({ id: 'current-password', label: t('current_password'), input: current }),
      ...chosen.draw(),
    ],
    action: t('change_password'),
    beside: [cancelButton(() => dialog.close())],
    async run() {
      const next = chosen.value()
      const { ended } = await post('b/account/password', {
        current_password: await encrypted(current.value),
        new_password: await encrypted(next),
      })
      dialog.close()
      notify(ended === 0 ? t('password_changed') : t('password_changed_ended', { n: count(ended) }))
    },
    failed: chosen.failed,
    reload: changed,
  })
  const dialog = openDialog({ title: t('change_password'), body: [form.element] })
}
