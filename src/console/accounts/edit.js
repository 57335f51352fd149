import { post } from '../api.js'
import { openDialog } from '../elements/dialogs.js'
import { h, notify } from '../elements/dom.js'
import { actionForm, cancelButton } from '../elements/forms.js'
import { t } from '../language/language.js'
import { accountFields } from './fields.js'
import { isOwn, nameOf } from './listed.js'

/**
 * @param {import('./listed.js').ListedAccount} account
 * @param {import('./listed.js').Side} side
 */
export function openEdit(account, side) {
  const fields = accountFields(account, { roles: side.roles, isOwn: isOwn(account, side) })
  const form = actionForm({
    body: [...(isOwn(account, side) ? [] : [h('p', { class: 'quiet' }, t('edit_detail'))]), ...fields.body],
    action: t('save'),
    beside: [cancelButton(() => dialog.close())],
    async run() {
      // What stays as it is, is not sent: another administrator may have changed it meanwhile.
      const changes = Object.entries(fields.values()).filter(
        ([name, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(account, name) ?? ''),
      )
      // Nothing is saved then, and the account may not even be there any more.
      if (changes.length === 0) return dialog.close()
      const { id, revision } = account
      await post(`${side.base}/edit`, { id, revision, ...Object.fromEntries(changes) })
      dialog.close()
      notify(t('saved', { user: nameOf(account) }))
    },
    reload: side.changed,
  })
  const dialog = openDialog({ title: t('edit_title', { user: nameOf(account) }), body: [form.element] })
}
