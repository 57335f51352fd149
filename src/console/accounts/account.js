import { addressOf } from '../address.js'
import { post, serves } from '../api.js'
import { confirm, openDialog } from '../elements/dialogs.js'
import { h, notify } from '../elements/dom.js'
import { facts } from '../elements/facts.js'
import { DASH } from '../elements/tables.js'
import { t } from '../language/language.js'
import { can } from '../session.js'
import { openTokens } from '../sessions/tokens.js'
import { openEdit } from './edit.js'
import { isEditable, isOwn, isResettable, nameOf } from './listed.js'
import { openResetPassword } from './reset.js'

/** @typedef {import('./listed.js').ListedAccount} ListedAccount */

/**
 * Shows an account with everything that can be done about it.
 *
 * @param {ListedAccount} account
 * @param {import('./listed.js').Side} side
 */
export function openAccount(account, side) {
  const list = (/** @type {string[]} */ texts) => (texts.length === 0 ? DASH : texts.join(', '))
  const about = facts([
    [t('username'), account.username],
    [t('user_id'), h('code', {}, account.id)],
    [t('status'), t(`status_${account.status}`)],
    [t('roles'), list(account.roles)],
    [t('permissions'), list(account.permissions)],
    [t('service_account'), t(account.service ? 'yes' : 'no')],
    ...(account.service ? [] : credentialsOf(account)),
  ])
  const dialog = openDialog({ title: nameOf(account), body: [about, actions(account, side, () => dialog.close())] })
}

/**
 * How its user signs in.
 *
 * @param {ListedAccount} account
 * @returns {[string, string][]}
 */
const credentialsOf = account => [
  [t('second_factor'), t(account.second_factor ? 'on' : 'off')],
  [t('password_set'), account.password_changed_at ?? DASH],
  [t('must_change'), t(account.must_change_password ? 'yes' : 'no')],
  [t('last_login'), account.last_login_time ?? DASH],
]

/**
 * @param {ListedAccount} account
 * @param {import('./listed.js').Side} side
 * @param {() => void} close
 */
function actions(account, side, close) {
  const { id, second_factor } = account
  /** Another dialog in the place of this one. */
  const instead = (/** @type {() => void} */ open) => () => {
    close()
    open()
  }
  const button = (/** @type {string} */ text, /** @type {() => void} */ open, look = '') =>
    h('button', { type: 'button', class: look, onclick: instead(open) }, `${text}…`)
  const user = { base: side.sessions, userId: id, name: nameOf(account), done: side.changed }
  const buttons = [
    serves('sys/session/page') && can('list') && button(t('show_sessions'), () => openTokens(user)),
    serves('sys/journal/page') &&
      can('journal') &&
      h(
        'a',
        { class: 'button', href: addressOf('journal', { login_id: id, type: side.isOwn ? 'BUSINESS' : 'CONSUMER' }) },
        t('journal'),
      ),
    isEditable(account) && [
      button(t('edit'), () => openEdit(account, side)),
      isResettable(account, side) && button(t('reset_password'), () => openResetPassword(account, side)),
      !isOwn(account, side) && [
        second_factor && button(t('reset_second_factor'), () => confirmResetFactor(account, side), 'danger'),
        button(t('remove_account'), () => confirmRemove(account, side), 'danger'),
      ],
    ],
  ]
  return h('footer', { class: 'spread' }, buttons.flat(2))
}

/**
 * @param {ListedAccount} account
 * @param {import('./listed.js').Side} side
 */
const confirmResetFactor = (account, side) =>
  confirm({
    title: t('reset_second_factor_title', { user: nameOf(account) }),
    details: [t('reset_second_factor_detail')],
    action: t('reset_second_factor'),
    async run() {
      await post(`${side.base}/reset-second-factor`, { id: account.id })
      notify(t('second_factor_was_reset', { user: nameOf(account) }))
      side.changed()
    },
  })

/**
 * @param {ListedAccount} account
 * @param {import('./listed.js').Side} side
 */
const confirmRemove = (account, side) =>
  confirm({
    title: t('remove_account_title', { user: nameOf(account) }),
    details: [t('remove_account_detail')],
    action: t('remove_account'),
    async run() {
      await post(`${side.base}/remove`, { id: account.id })
      notify(t('account_removed', { user: nameOf(account) }))
      side.changed()
    },
  })
