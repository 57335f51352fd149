import { get, post } from '../api.js'
import { confirm, openDialog } from '../elements/dialogs.js'
import { h, notify, show } from '../elements/dom.js'
import { rowButton, table } from '../elements/tables.js'
import { deviceText, duration, shortened } from '../language/format.js'
import { faultText, t } from '../language/language.js'
import { can, isOwner, isOwnToken } from '../session.js'
import { confirmDisable, disableState } from './disable.js'

/**
 * @typedef {{ token: string, created_at: string, timeout_seconds: number, device_type: string | null,
 *   device_id: string | null }} Token
 * @typedef {{ base: string, userId: string, name: string, done: () => void }} User A user of one side; `done` is called
 *   after a change.
 */

/**
 * Ends every session of a user, after a confirmation.
 *
 * @param {User} user
 */
export function confirmEndAll({ base, userId, name, done }) {
  confirm({
    title: t('end_all_title', { user: name }),
    details: [t('end_all_detail'), ...(isOwner(base, userId) ? [t('end_own_detail')] : [])],
    action: t('end_all'),
    async run() {
      await post(`${base}/exit`, { user_id: userId })
      notify(t('ended_all', { user: name }))
      done()
    },
  })
}

/**
 * Shows the sessions of one user, each with a button to end it.
 *
 * @param {{ base: string, userId: string, name: string, done: () => void }} options `done` is called after a change.
 */
export function openTokens({ base, userId, name, done }) {
  const list = h('div', { class: 'token-list' }, h('p', { class: 'quiet' }, t('loading')))
  const state = h('div', {})
  const changed = () => {
    void load()
    done()
  }
  const user = { base, userId, name, done: changed }
  const actions = h(
    'footer',
    {},
    can('disable') && h('button', { type: 'button', onclick: () => confirmDisable(user) }, `${t('disable')}…`),
    can('end') &&
      h('button', { type: 'button', class: 'danger', onclick: () => confirmEndAll(user) }, `${t('end_all')}…`),
  )
  const id = h('p', { class: 'quiet' }, h('code', {}, userId))
  openDialog({
    title: t('sessions_of', { user: name }),
    wide: true,
    body: [id, state, list, ...(actions.hasChildNodes() ? [actions] : [])],
  })
  void load()

  async function load() {
    try {
      /** @type {Token[]} */
      const tokens = await get(`${base}/tokens`, { user_id: userId })
      show(list, tokens.length === 0 ? h('p', { class: 'quiet' }, t('none_left')) : tokenTable(tokens, user))
      if (can('disable')) show(state, await disableState({ base, userId, name }))
    } catch (problem) {
      show(list, h('p', { class: 'fault', role: 'alert' }, faultText(problem)))
    }
  }
}

/**
 * @param {Token[]} tokens
 * @param {User} user
 */
const tokenTable = (tokens, user) =>
  table({
    caption: t('sessions_of', { user: user.name }),
    columns: [
      { label: t(tokens.some(({ token }) => token.includes('.')) ? 'token' : 'handle'), isUnlabelled: true },
      { label: t('signed_in'), look: 'number' },
      { label: t('ends_in'), look: 'number' },
      { label: t('device') },
      ...(can('end') ? [{ label: t('actions'), look: 'actions' }] : []),
    ],
    rows: tokens.map(token => row(token, user)),
  })

/**
 * @param {Token} token
 * @param {User} user
 */
function row({ token, created_at, timeout_seconds, device_type, device_id }, user) {
  const end = () => confirmEnd(token, user)
  return [
    [
      h('code', { title: token }, shortened(token)),
      isOwnToken(token) && h('span', { class: 'tag own' }, t('this_session')),
    ],
    created_at,
    duration(timeout_seconds),
    deviceText(device_type, device_id),
    ...(can('end')
      ? [rowButton({ key: token, text: t('end'), about: shortened(token), look: 'small danger', onclick: end })]
      : []),
  ]
}

/**
 * Ends one session of a user, after a confirmation.
 *
 * @param {string} token
 * @param {User} user
 */
function confirmEnd(token, { base, userId, name, done }) {
  confirm({
    title: t('end_one_title'),
    details: [t('end_one_detail', { user: name }), ...(isOwnToken(token) ? [t('end_own_detail')] : [])],
    action: t('end'),
    async run() {
      await post(`${base}/exit-token`, { user_id: userId, token })
      notify(t('ended_one', { user: name }))
      done()
    },
  })
}
