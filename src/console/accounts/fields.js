import { h } from '../elements/dom.js'
import { field, textInput } from '../elements/forms.js'
import { DASH } from '../elements/tables.js'
import { t } from '../language/language.js'
import { STATUSES } from './listed.js'
import { listOf, roleChoice } from './roles.js'

/** @typedef {{ nickname: string, status: string, roles: string[], permissions: string[] }} Editable */

/**
 * The fields of an account that administrators edit.
 *
 * @param {Editable} account
 * @param {{ roles: import('./roles.js').Role[], isOwn?: boolean, typed?: Partial<Editable>, before?: Editable }} options `roles` are
 *   those that the gateway knows. Administrators do not change the rights and the status of their own account. `typed` is what the
 *   fields hold instead of what is saved, which stands below those that were saved differently `before`.
 */
export function accountFields(account, { roles: known, isOwn = false, typed = {}, before = account }) {
  const shown = { ...account, ...typed }
  const nickname = textInput('account-nickname', { maxlength: 128 })
  const roles = roleChoice(account.roles, known, shown.roles)
  const permissions = textInput('account-permissions')
  /** @type {HTMLSelectElement} */
  const status = h(
    'select',
    { id: 'account-status' },
    STATUSES.map(name => h('option', { value: name }, t(`status_${name}`))),
  )
  nickname.value = shown.nickname
  permissions.value = shown.permissions.join(', ')
  status.value = shown.status
  const saved = (/** @type {keyof Editable} */ name, /** @type {HTMLElement} */ input) =>
    differ(account[name], before[name]) &&
    differ(account[name], shown[name]) &&
    savedBelow(input, savedText(name, account))
  return {
    body: [
      field({ id: 'account-nickname', label: t('nickname'), input: nickname }),
      saved('nickname', nickname),
      ...(isOwn
        ? []
        : [
            ...roles.body,
            saved('roles', roles.input),
            field({ id: 'account-permissions', label: t('permissions'), hint: t('grant_hint'), input: permissions }),
            saved('permissions', permissions),
            field({ id: 'account-status', label: t('status'), input: status }),
            saved('status', status),
          ]),
    ],
    /** @returns {Editable} */
    values: () => ({
      nickname: nickname.value.trim(),
      roles: roles.values(),
      permissions: listOf(permissions.value, [...account.permissions, ...shown.permissions]),
      status: status.value,
    }),
  }
}

/**
 * Whether two values of a field are not the same. The order in which a source lists roles is not theirs.
 *
 * @param {unknown} one
 * @param {unknown} other
 */
export const differ = (one, other) => JSON.stringify(sorted(one)) !== JSON.stringify(sorted(other))

const sorted = (/** @type {unknown} */ value) => (Array.isArray(value) ? value.toSorted() : value)

/**
 * @param {keyof Editable} name
 * @param {Editable} account
 */
function savedText(name, account) {
  if (name === 'status') return t(/** @type {`status_${import('./listed.js').Status}`} */ (`status_${account.status}`))
  const value = account[name]
  return typeof value === 'string' ? value : value.join(', ')
}

/**
 * What is saved by now, below a field that holds something else.
 *
 * @param {HTMLElement} input
 * @param {string} text
 */
function savedBelow(input, text) {
  const id = `${input.id}-saved`
  input.setAttribute('aria-describedby', [input.getAttribute('aria-describedby'), id].filter(Boolean).join(' '))
  return h('p', { class: 'advice', id }, t('saved_now', { value: text || DASH }))
}
