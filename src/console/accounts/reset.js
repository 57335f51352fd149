import { post } from '../api.js'
import { openDialog } from '../elements/dialogs.js'
import { h, notify } from '../elements/dom.js'
import { actionForm, cancelButton } from '../elements/forms.js'
import { t } from '../language/language.js'
import { passwordChoice, showPassword } from './choose-password.js'
import { endOfKeys, nameOf } from './listed.js'

/**
 * @param {import('./listed.js').ListedAccount} account
 * @param {import('./listed.js').Side} side
 */
export function openResetPassword(account, side) {
  const name = nameOf(account)
  const password = passwordChoice(() => account.username)
  const form = actionForm({
    body: [h('p', {}, [t('reset_password_detail'), ...endOfKeys(side)].join(' ')), ...password.body],
    action: t('reset_password'),
    look: 'danger',
    beside: [cancelButton(() => dialog.close())],
    async run() {
      const { password: created } = await post(`${side.base}/reset-password`, {
        id: account.id,
        ...(await password.values()),
      })
      dialog.close()
      if (created !== undefined) showPassword(name, created)
      notify(t('password_was_reset', { user: name }))
    },
    failed: password.failed,
    reload: side.changed,
  })
  const dialog = openDialog({ title: t('reset_password_title', { user: name }), body: [form.element] })
}
