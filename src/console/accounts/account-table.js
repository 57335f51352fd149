import { h } from '../elements/dom.js'
import { DASH, rowButton, table } from '../elements/tables.js'
import { t } from '../language/language.js'
import { openAccount } from './account.js'
import { openEdit } from './edit.js'
import { isEditable, isOwn, nameOf } from './listed.js'
import { openResetPassword } from './reset.js'

/** @typedef {import('./listed.js').ListedAccount} ListedAccount */

/**
 * @param {ListedAccount[]} accounts
 * @param {import('./listed.js').Side} side
 */
export const accountTable = (accounts, side) =>
  table({
    caption: t('accounts'),
    columns: [
      { label: t('user'), look: 'who', isUnlabelled: true },
      { label: t('roles') },
      { label: t('second_factor') },
      { label: t('password_set'), look: 'number' },
      { label: t('last_login'), look: 'number' },
      { label: t('actions'), look: 'actions' },
    ],
    rows: accounts.map(account => row(account, side)),
  })

/**
 * @param {ListedAccount} account
 * @param {import('./listed.js').Side} side
 */
function row(account, side) {
  const { id, roles, permissions, second_factor, must_change_password, password_changed_at, last_login_time } = account
  const about = nameOf(account)
  return [
    who(account, side),
    roles.length === 0 ? (permissions.length === 0 ? DASH : permissions.join(', ')) : roles.join(', '),
    t(second_factor ? 'on' : 'off'),
    must_change_password
      ? [password_changed_at ?? DASH, h('span', { class: 'quiet' }, t('must_change'))]
      : (password_changed_at ?? DASH),
    last_login_time ?? DASH,
    isEditable(account) && [
      rowButton({ key: `edit ${id}`, text: `${t('edit')}…`, about, onclick: () => openEdit(account, side) }),
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
  const { id, username, status } = account
  const name = nameOf(account)
  return [
    h(
      'button',
      { type: 'button', class: 'link', 'data-key': `account ${id}`, onclick: () => openAccount(account, side) },
      name,
    ),
    isOwn(account, side) && h('span', { class: 'tag own' }, t('you')),
    status !== 'ACTIVE' && h('span', { class: 'tag disabled' }, t(`status_${status}`)),
    h('span', { class: 'quiet' }, username !== name && `${username} · `, h('code', {}, id)),
  ]
}
