import { h } from '../elements/dom.js'
import { rowButton, table } from '../elements/tables.js'
import { count, duration, nameOf } from '../language/format.js'
import { t } from '../language/language.js'
import { can, isOwner } from '../session.js'
import { confirmDisable } from './disable.js'
import { byEnd } from './times.js'
import { confirmEndAll, openTokens } from './tokens.js'

/**
 * @typedef {{ user_id: string, username: string | null, nickname: string | null, status: string | null,
 *   last_login_ip: string | null, last_login_time: string, session_create_time: string,
 *   session_timeout_seconds: number, token_count: number }} User
 * @typedef {{ base: string, changed: () => void }} Side The endpoints of the side; `changed` is called after a change.
 * @typedef {ReturnType<typeof import('../elements/selection.js').createSelection>} Selection
 */

/**
 * The table of online users, with the permitted actions.
 *
 * @param {User[]} users
 * @param {{ side: Side, selection: Selection | null, sorting: import('../elements/sorting.js').Sorting | false }} options
 */
export const userTable = (users, { side, selection, sorting }) =>
  table({
    caption: t('users'),
    columns: [
      { label: t('user'), look: 'who', isUnlabelled: true, by: nameOf },
      { label: t('last_login'), look: 'number', by: user => user.last_login_time },
      { label: t('since'), look: 'number', by: user => user.session_create_time },
      { label: t('ends_in'), look: 'number', by: user => byEnd(user.session_timeout_seconds) },
      { label: t('tokens'), look: 'number amount', by: user => user.token_count },
      { label: t('actions'), look: 'actions' },
    ],
    items: users,
    row: user => row(user, side, selection),
    sorting,
  })

/**
 * @param {User} user
 * @param {Side} side
 * @param {Selection | null} selection
 */
function row(user, { base, changed }, selection) {
  const subject = { base, userId: user.user_id, name: nameOf(user), done: changed }
  const open = () => openTokens(subject)
  return [
    [selection?.box(user.user_id, nameOf(user)), ...who(user, base, open)],
    [
      h('span', {}, user.last_login_time),
      user.last_login_ip !== null && h('span', { class: 'quiet' }, user.last_login_ip),
    ],
    user.session_create_time,
    duration(user.session_timeout_seconds),
    count(user.token_count),
    [
      action(user, 'sessions', t('show_sessions'), open),
      can('disable') && action(user, 'disable', `${t('disable')}…`, () => confirmDisable(subject)),
      can('end') && action(user, 'end', `${t('end_all')}…`, () => confirmEndAll(subject), 'small danger'),
    ],
  ]
}

/**
 * @param {User} user
 * @param {string} base
 * @param {() => void} open
 */
function who(user, base, open) {
  const { user_id: userId, username, status } = user
  const name = nameOf(user)
  return [
    h('button', { type: 'button', class: 'link', 'data-key': `user ${userId}`, onclick: open }, name),
    isOwner(base, userId) && h('span', { class: 'tag own' }, t('you')),
    status !== null && status !== 'ACTIVE' && h('span', { class: 'tag disabled' }, status),
    h('span', { class: 'quiet' }, username && username !== name && `${username} · `, h('code', {}, userId)),
  ]
}

/**
 * @param {User} user
 * @param {string} key
 * @param {string} text
 * @param {() => void} onclick
 * @param {string} [look]
 */
const action = (user, key, text, onclick, look) =>
  rowButton({ key: `${key} ${user.user_id}`, text, about: nameOf(user), onclick, ...(look && { look }) })
