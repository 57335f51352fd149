import { h } from '../elements/dom.js'
import { field, textInput } from '../elements/forms.js'
import { t } from '../language/language.js'
import { STATUSES } from './listed.js'

/** @typedef {{ nickname: string, status: string, roles: string[], permissions: string[] }} Editable */

/**
 * The fields of an account that administrators edit.
 *
 * @param {Editable} account
 * @param {{ isOwn?: boolean }} [options] Administrators do not change the rights and the status of their own account.
 */
export function accountFields(account, { isOwn = false } = {}) {
  const nickname = textInput('account-nickname', { maxlength: 128 })
  const roles = textInput('account-roles')
  const permissions = textInput('account-permissions')
  /** @type {HTMLSelectElement} */
  const status = h(
    'select',
    { id: 'account-status' },
    STATUSES.map(name => h('option', { value: name }, t(`status_${name}`))),
  )
  nickname.value = account.nickname
  roles.value = account.roles.join(', ')
  permissions.value = account.permissions.join(', ')
  status.value = account.status
  return {
    body: [
      field({ id: 'account-nickname', label: t('nickname'), input: nickname }),
      ...(isOwn
        ? []
        : [
            field({ id: 'account-roles', label: t('roles'), hint: t('list_hint'), input: roles }),
            field({ id: 'account-permissions', label: t('permissions'), hint: t('grant_hint'), input: permissions }),
            field({ id: 'account-status', label: t('status'), input: status }),
          ]),
    ],
    /** @returns {Editable} */
    values: () => ({
      nickname: nickname.value.trim(),
      roles: listOf(roles.value),
      permissions: listOf(permissions.value),
      status: status.value,
    }),
  }
}

/** @param {string} text */
const listOf = text =>
  text
    .split(/[,，、\s]+/)
    .map(part => part.trim())
    .filter(part => part !== '')
