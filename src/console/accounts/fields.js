import { h } from '../elements/dom.js'
import { field, textInput } from '../elements/forms.js'
import { t } from '../language/language.js'
import { STATUSES } from './listed.js'
import { listOf, roleChoice } from './roles.js'

/** @typedef {{ nickname: string, status: string, roles: string[], permissions: string[] }} Editable */

/**
 * The fields of an account that administrators edit.
 *
 * @param {Editable} account
 * @param {{ roles: import('./roles.js').Role[], isOwn?: boolean }} options `roles` are those that the gateway knows. Administrators
 *   do not change the rights and the status of their own account.
 */
export function accountFields(account, { roles: known, isOwn = false }) {
  const nickname = textInput('account-nickname', { maxlength: 128 })
  const roles = roleChoice(account.roles, known)
  const permissions = textInput('account-permissions')
  /** @type {HTMLSelectElement} */
  const status = h(
    'select',
    { id: 'account-status' },
    STATUSES.map(name => h('option', { value: name }, t(`status_${name}`))),
  )
  nickname.value = account.nickname
  permissions.value = account.permissions.join(', ')
  status.value = account.status
  return {
    body: [
      field({ id: 'account-nickname', label: t('nickname'), input: nickname }),
      ...(isOwn
        ? []
        : [
            ...roles.body,
            field({ id: 'account-permissions', label: t('permissions'), hint: t('grant_hint'), input: permissions }),
            field({ id: 'account-status', label: t('status'), input: status }),
          ]),
    ],
    /** @returns {Editable} */
    values: () => ({
      nickname: nickname.value.trim(),
      roles: roles.values(),
      permissions: listOf(permissions.value, account.permissions),
      status: status.value,
    }),
  }
}
