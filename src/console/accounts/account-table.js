import { h } from '../elements/dom.js'
import { DASH, rowButton, table } from '../elements/tables.js'
import { t } from '../language/language.js'
import { openAccount } from './account.js'
import { openEdit } from './edit.js'
import { isEditable, isOwn, nameOf } from './listed.js'
import { openMakeKey, takesKey } from './make-key.js'
import { openResetPassword } from './reset.js'

/** @typedef {import('./listed.js').ListedAccount} ListedAccount */

/**
 * @param {ListedAccount[]} accounts
 * @param {import('./listed.js').Side} side
 * @param {import('../elements/sorting.js').Sorting | false} sorting
 */
export const accountTable = (accounts, side, sorting) =>
  table({
    caption: t('accounts'),
    columns: [
      { label: t('user'), look: 'who', isUnlabelled: true, by: nameOf },
      { label: t('roles'), by: rightsOf },
      { label: t('second_factor'), by: ({ second_factor }) => Number(second_factor) },
      { label: t('password_set'), look: 'number', by: account => account.password_changed_at },
      { label: t('last_login'), look: 'number', by: account => account.last_login_time },
      { label: t('actions'), look: 'actions' },
    ],
    items: accounts,
    row: account => row(account, side),
    sorting,
  })

/** @param {ListedAccount} account */
const rightsOf = ({ roles, permissions }) => (roles.length > 0 ? roles : permissions).join(', ') || null

/**
 * @param {ListedAccount} account
 * @param {import('./listed.js').Side} side
 */
function row(account, side) {
  const { id, service, second_factor, must_change_password, password_changed_at, last_login_time } = account
  const about = nameOf(account)
  return [
    who(account, side),
    rightsOf(account) ?? DASH,
    service === true ? DASH : t(second_factor ? 'on' : 'off'),
    must_change_password
      ? [password_changed_at ?? DASH, h('span', { class: 'quiet' }, t('must_change'))]
      : (password_changed_at ?? DASH),
    last_login_time ?? DASH,
    [
      takesKey(account, side) &&
        rowButton({
          key: `make-key ${id}`,
          text: `${t('make_key')}…`,
          about,
          onclick: () => openMakeKey(account, side),
        }),
      isEditable(account) &&
        rowButton({ key: `edit ${id}`, text: `${t('edit')}…`, about, onclick: () => openEdit(account, side) }),
      isEditable(account) &&
        service !== true &&
        !isOwn(account, side) &&
        rowButton({
          key: `password ${id}`,
          text: `${t('reset_password')}…`,
          about,
          onclick: () => openResetPassword(account, side),
        }),
    ],
  ]
}

/**
 * @param {ListedAccount} account
 * @param {import('./listed.js').Side} side
 */
function who(account, side) {
  const { id, username, status, service } = account
  const name = nameOf(account)
  return [
    h(
      'button',
      { type: 'button', class: 'link', 'data-key': `account ${id}`, onclick: () => openAccount(account, side) },
      name,
    ),
    isOwn(account, side) && h('span', { class: 'tag own' }, t('you')),
    service === true && h('span', { class: 'tag off' }, t('service')),
    status !== 'ACTIVE' && h('span', { class: 'tag disabled' }, t(`status_${status}`)),
    h('span', { class: 'quiet' }, username !== name && `${username} · `, h('code', {}, id)),
  ]
}
