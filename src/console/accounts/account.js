import { addressOf } from '../address.js'
import { post, serves } from '../api.js'
import { confirm, openDialog } from '../elements/dialogs.js'
import { h, notify } from '../elements/dom.js'
import { facts } from '../elements/facts.js'
import { DASH } from '../elements/tables.js'
import { SIDES } from '../keys/sides.js'
import { t } from '../language/language.js'
import { can } from '../session.js'
import { openTokens } from '../sessions/tokens.js'
import { openEdit } from './edit.js'
import { endOfKeys, isEditable, isOwn, nameOf, nameOfSide } from './listed.js'
import { openMakeKey, takesKey } from './make-key.js'
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
    ...(account.service === true ? [] : ofPerson(account)),
  ])
  const dialog = openDialog({ title: nameOf(account), body: [about, actions(account, side, () => dialog.close())] })
}

/**
 * What only people have.
 *
 * @param {ListedAccount} account
 * @returns {[name: string, value: string][]}
 */
const ofPerson = account => [
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
  const { id, second_factor, service } = account
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
      h('a', { class: 'button', href: addressOf('journal', { login_id: id, type: nameOfSide(side) }) }, t('journal')),
    keysLink(account, side),
    takesKey(account, side) && button(t('make_key'), () => openMakeKey(account, side)),
    isEditable(account) && [
      button(t('edit'), () => openEdit(account, side)),
      // For their own account administrators need what only its user knows.
      !isOwn(account, side) && [
        service !== true && button(t('reset_password'), () => openResetPassword(account, side)),
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
const keysLink = ({ id }, side) => {
  const { address, base } = SIDES[nameOfSide(side)]
  return (
    serves(`${base}/page`) &&
    can('listKeys') &&
    h('a', { class: 'button', href: addressOf(address, { user_id: id }) }, t('show_keys'))
  )
}

/**
 * @param {ListedAccount} account
 * @param {import('./listed.js').Side} side
 */
const confirmResetFactor = (account, side) =>
  confirm({
    title: t('reset_second_factor_title', { user: nameOf(account) }),
    details: [t('reset_second_factor_detail'), ...endOfKeys(side)],
    action: t('reset_second_factor'),
    reload: side.changed,
    async run() {
      await post(`${side.base}/reset-second-factor`, { id: account.id })
      notify(t('second_factor_was_reset', { user: nameOf(account) }))
    },
  })

/**
 * @param {ListedAccount} account
 * @param {import('./listed.js').Side} side
 */
const confirmRemove = (account, side) =>
  confirm({
    title: t('remove_account_title', { user: nameOf(account) }),
    details: [t('remove_account_detail'), ...endOfKeys(side)],
    action: t('remove_account'),
    reload: side.changed,
    async run() {
      await post(`${side.base}/remove`, { id: account.id })
      notify(t('account_removed', { user: nameOf(account) }))
    },
  })
