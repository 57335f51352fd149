import { get, post } from '../api.js'
import { confirm, openDialog } from '../elements/dialogs.js'
import { h, notify, show } from '../elements/dom.js'
import { createLoads } from '../elements/loads.js'
import { createSelection } from '../elements/selection.js'
import { createSorting } from '../elements/sorting.js'
import { DASH, rowButton, table } from '../elements/tables.js'
import { createTrouble } from '../elements/trouble.js'
import { count, deviceText, duration, shortened } from '../language/format.js'
import { t } from '../language/language.js'
import { can, isOwner, isOwnToken } from '../session.js'
import { confirmDisable, disableState } from './disable.js'
import { confirmEndSeveral } from './end-several.js'
import { byProvider, LISTED, sessionTimes } from './times.js'

/**
 * @typedef {{ token: string, created_at: string, timeout_seconds: number, device_type: string | null,
 *   device_id: string | null, login_ip: string | null, provider: string | null }} Token
 * @typedef {{ base: string, userId: string, name: string, done: () => void }} User A user of one side; `done` is called
 *   after a change.
 * @typedef {import('./user-table.js').Selection} Selection
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
    reload: done,
    async run() {
      await post(`${base}/exit`, { user_id: userId })
      notify(t('ended_all', { user: name }))
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
  let tokens = /** @type {Token[] | null} */ (null)
  const begin = createLoads()
  const trouble = createTrouble(() => void load())
  const sorting = createSorting(fill)
  const selection = createSelection({
    action: 'end_selected',
    changed: fill,
    act: chosen =>
      confirmEndSeveral({
        title: t('end_tokens_title', { n: count(chosen.length), user: name }),
        targets: (tokens ?? []).filter(({ token }) => chosen.includes(token)).map(token => targetOf(token, user)),
        done: changed,
      }),
  })
  const id = h('p', { class: 'quiet' }, h('code', {}, userId))
  openDialog({
    title: t('sessions_of', { user: name }),
    wide: true,
    body: [id, state, trouble.element, list, ...actionsOn(user)],
  })
  void load()

  function fill() {
    if (tokens === null) return show(list)
    if (tokens.length === 0) return show(list, h('p', { class: 'quiet' }, t('none_left')))
    const isSelectable = can('end') && tokens.length > 1
    show(
      list,
      isSelectable && selection.bar(tokens.map(({ token }) => token)),
      tokenTable(tokens, user, { selection: isSelectable ? selection : null, sorting }),
      tokens.length === LISTED && h('p', { class: 'cut quiet' }, t('newest_sessions', { n: count(LISTED) })),
    )
  }

  async function load() {
    const isNewest = begin()
    try {
      const loaded = await get(`${base}/tokens`, { user_id: userId })
      if (!isNewest()) return
      tokens = loaded
      fill()
      const disabled = can('disable') && (await disableState({ base, userId, name }))
      if (!isNewest()) return
      show(state, disabled)
      trouble.clear()
    } catch (problem) {
      if (!isNewest()) return
      fill()
      trouble.report(problem)
    }
  }
}

/**
 * What can be done to a user, as the foot of the dialog.
 *
 * @param {User} user
 */
function actionsOn(user) {
  const disable = () => confirmDisable(user)
  const endAll = () => confirmEndAll(user)
  const actions = [
    can('disable') && h('button', { type: 'button', onclick: disable }, `${t('disable')}…`),
    can('end') && h('button', { type: 'button', class: 'danger', onclick: endAll }, `${t('end_all')}…`),
  ]
  return actions.some(Boolean) ? [h('footer', {}, actions)] : []
}

/**
 * @param {Token[]} tokens
 * @param {User} user
 * @param {{ selection: Selection | null, sorting: import('../elements/sorting.js').Sorting }} options
 */
const tokenTable = (tokens, user, { selection, sorting }) =>
  table({
    caption: t('sessions_of', { user: user.name }),
    columns: [
      {
        label: t(tokens.some(({ token }) => token.includes('.')) ? 'token' : 'handle'),
        look: 'token',
        isUnlabelled: true,
      },
      ...sessionTimes(),
      { label: t('device'), by: deviceOf },
      { label: t('address'), look: 'address', by: one => one.login_ip },
      ...(can('end') ? [{ label: t('actions'), look: 'actions' }] : []),
    ],
    items: tokens,
    row: token => row(token, user, selection),
    sorting,
  })

/** @param {Token} token */
const deviceOf = token => deviceText(token.device_type, token.device_id)

/**
 * @param {Token} token
 * @param {User} user
 */
const targetOf = ({ token, created_at }, { base, userId }) => ({
  name: `${shortened(token)} (${created_at})`,
  isOwn: isOwnToken(token),
  end: () => post(`${base}/exit-token`, { user_id: userId, token }),
})

/**
 * @param {Token} listed
 * @param {User} user
 * @param {Selection | null} selection
 */
function row(listed, user, selection) {
  const { token, created_at, timeout_seconds, login_ip } = listed
  const end = () => confirmEnd(token, user)
  return [
    [
      selection?.box(token, shortened(token)),
      h('code', { title: token }, shortened(token)),
      isOwnToken(token) && h('span', { class: 'tag own' }, t('this_session')),
    ],
    [created_at, byProvider(listed)],
    duration(timeout_seconds),
    deviceOf(listed),
    login_ip ?? DASH,
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
    reload: done,
    async run() {
      await post(`${base}/exit-token`, { user_id: userId, token })
      notify(t('ended_one', { user: name }))
    },
  })
}
