import { confirmDisable } from './disable.js'
import { h } from './dom.js'
import { count, duration } from './format.js'
import { t } from './language.js'
import { can, isOwner } from './session.js'
import { confirmEndAll, openTokens } from './tokens.js'

/**
 * @typedef {{ user_id: string, username: string | null, nickname: string | null, status: string | null,
 *   last_login_ip: string | null, last_login_time: string, session_create_time: string,
 *   session_timeout_seconds: number, token_count: number }} User
 * @typedef {{ base: string, changed: () => void }} Side The endpoints of the side; `changed` is called after a change.
 */

/**
 * The table of online users, with the permitted actions.
 *
 * @param {User[]} users
 * @param {Side} side
 */
export const userTable = (users, side) =>
  h(
    'table',
    {},
    h('caption', { class: 'unseen' }, t('users')),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'col' }, t('user')),
        h('th', { scope: 'col' }, t('last_login')),
        h('th', { scope: 'col' }, t('since')),
        h('th', { scope: 'col' }, t('ends_in')),
        h('th', { scope: 'col', class: 'amount' }, t('tokens')),
        h('th', { scope: 'col', class: 'actions' }, h('span', { class: 'unseen' }, t('actions'))),
      ),
    ),
    h(
      'tbody',
      {},
      users.map(user => row(user, side)),
    ),
  )

/** @param {User} user */
const nameOf = ({ nickname, username, user_id }) => nickname ?? username ?? user_id

/**
 * @param {User} user
 * @param {Side} side
 */
function row(user, { base, changed }) {
  const subject = { base, userId: user.user_id, name: nameOf(user), done: changed }
  const open = () => openTokens(subject)
  return h(
    'tr',
    {},
    who(user, base, open),
    h(
      'td',
      { class: 'number', 'data-label': t('last_login') },
      h('span', {}, user.last_login_time),
      user.last_login_ip !== null && h('span', { class: 'quiet' }, user.last_login_ip),
    ),
    h('td', { class: 'number', 'data-label': t('since') }, user.session_create_time),
    h('td', { class: 'number', 'data-label': t('ends_in') }, duration(user.session_timeout_seconds)),
    h('td', { class: 'number amount', 'data-label': t('tokens') }, count(user.token_count)),
    h(
      'td',
      { class: 'actions' },
      action(user, 'sessions', t('show_sessions'), open),
      can('disable') && action(user, 'disable', `${t('disable')}…`, () => confirmDisable(subject)),
      can('end') && action(user, 'end', `${t('end_all')}…`, () => confirmEndAll(subject), 'small danger'),
    ),
  )
}

/**
 * @param {User} user
 * @param {string} base
 * @param {() => void} open
 */
function who(user, base, open) {
  const { user_id: userId, username, status } = user
  const name = nameOf(user)
  return h(
    'td',
    { class: 'who' },
    h('button', { type: 'button', class: 'link', 'data-key': `user ${userId}`, onclick: open }, name),
    isOwner(base, userId) && h('span', { class: 'tag own' }, t('you')),
    status !== null && status !== 'ACTIVE' && h('span', { class: 'tag disabled' }, status),
    h('span', { class: 'quiet' }, username !== null && username !== name && `${username} · `, h('code', {}, userId)),
  )
}

/**
 * @param {User} user
 * @param {string} key
 * @param {string} text
 * @param {() => void} onclick
 * @param {string} [look]
 */
function action(user, key, text, onclick, look = 'small') {
  const attributes = { 'data-key': `${key} ${user.user_id}`, 'aria-label': `${text} (${nameOf(user)})`, onclick }
  return h('button', { type: 'button', class: look, ...attributes }, text)
}
