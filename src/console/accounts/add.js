import { post } from '../api.js'
import { openDialog } from '../elements/dialogs.js'
import { h, notify } from '../elements/dom.js'
import { actionForm, cancelButton, choice, field, textInput } from '../elements/forms.js'
import { t } from '../language/language.js'
import { passwordChoice, showPassword } from './choose-password.js'
import { accountFields } from './fields.js'
import { hasKeys } from './listed.js'

/** @param {import('./listed.js').Side} side */
export function openAdd(side) {
  const username = textInput('account-username', { required: true, maxlength: 128, autofocus: true })
  const fields = accountFields({ nickname: '', status: 'ACTIVE', roles: [], permissions: [] }, { roles: side.roles })
  const password = passwordChoice(() => username.value.trim())
  const isService = h('input', { type: 'checkbox', id: 'is-service', onchange: draw })
  // Disabled, so that no field of a password is required of a service account.
  const ofPerson = h('fieldset', { class: 'column' }, password.body)

  function draw() {
    ofPerson.disabled = isService.checked
    ofPerson.hidden = isService.checked
  }

  const form = actionForm({
    body: [
      field({ id: 'account-username', label: t('username'), input: username }),
      ...fields.body,
      hasKeys(side) && choice(isService, t('service_detail')),
      ofPerson,
    ],
    action: t('add_account'),
    beside: [cancelButton(() => dialog.close())],
    async run() {
      const { nickname, ...others } = fields.values()
      const name = username.value.trim()
      const { password: created } = await post(`${side.base}/add`, {
        username: name,
        ...(nickname !== '' && { nickname }),
        ...others,
        ...(isService.checked ? { service: true } : await password.values()),
      })
      dialog.close()
      if (created !== undefined) showPassword(name, created)
      notify(t('account_added', { user: name }))
    },
    failed: password.failed,
    reload: side.changed,
  })
  const dialog = openDialog({ title: t('add_account'), body: [form.element] })
}
