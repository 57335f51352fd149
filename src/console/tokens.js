import { get, post } from './api.js'
import { askToBar, barState } from './bars.js'
import { confirm, openDialog } from './dialogs.js'
import { h, notify, show } from './dom.js'
import { duration, shortened } from './format.js'
import { faultText, t } from './language.js'
import { isOwner, isOwnToken, may } from './session.js'

/**
 * @typedef {{ token: string, created_at: string, timeout_seconds: number, device_type: string | null,
 *   device_id: string | null }} Token
 */

/**
 * Asks before every session of a user ends, and ends them.
 *
 * @param {{ base: string, userId: string, name: string, done: () => void }} options
 */
export function askToEndAll({ base, userId, name, done }) {
  confirm({
    title: t('end_all_title', { user: name }),
    why: [t('end_all_why'), ...(isOwner(base, userId) ? [t('end_own_why')] : [])],
    action: t('end_all'),
    async run() {
      await post(`${base}/exit`, { user_id: userId })
      notify(t('ended_all', { user: name }))
      done()
    },
  })
}

/**
 * The sessions of one user, each with its end.
 *
 * @param {{ base: string, userId: string, name: string, done: () => void }} options `done` is told after a change.
 */
export function openTokens({ base, userId, name, done }) {
  const list = h('div', { class: 'token-list' }, h('p', { class: 'quiet' }, t('loading')))
  const state = h('div', {})
  const changed = () => {
    void look()
    done()
  }
  const user = { base, userId, name, done: changed }
  const actions = h(
    'footer',
    {},
    may('bar') && h('button', { type: 'button', onclick: () => askToBar(user) }, `${t('bar')}…`),
    may('end') &&
      h('button', { type: 'button', class: 'danger', onclick: () => askToEndAll(user) }, `${t('end_all')}…`),
  )
  const id = h('p', { class: 'quiet' }, h('code', {}, userId))
  openDialog({
    title: t('sessions_of', { user: name }),
    wide: true,
    body: [id, state, list, ...(actions.hasChildNodes() ? [actions] : [])],
  })
  void look()

  async function look() {
    try {
      /** @type {Token[]} */
      const tokens = await get(`${base}/tokens`, { user_id: userId })
      show(list, tokens.length === 0 ? h('p', { class: 'quiet' }, t('none_left')) : table(tokens))
      if (may('bar')) show(state, await barState({ base, userId, name }))
    } catch (problem) {
      show(list, h('p', { class: 'fault', role: 'alert' }, faultText(problem)))
    }
  }

  /** @param {Token[]} tokens */
  const table = tokens =>
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', { scope: 'col' }, t(tokens.some(({ token }) => token.includes('.')) ? 'token' : 'handle')),
          h('th', { scope: 'col' }, t('signed_in')),
          h('th', { scope: 'col' }, t('ends_in')),
          h('th', { scope: 'col' }, t('device')),
          may('end') && h('th', { scope: 'col', class: 'actions' }, h('span', { class: 'unseen' }, t('actions'))),
        ),
      ),
      h('tbody', {}, tokens.map(row)),
    )

  /** @param {Token} token */
  function row({ token, created_at, timeout_seconds, device_type, device_id }) {
    const device = [device_type, device_id].filter(part => part !== null && part !== '').join(' · ')
    return h(
      'tr',
      {},
      h(
        'td',
        {},
        h('code', { title: token }, shortened(token)),
        isOwnToken(token) && h('span', { class: 'tag own' }, t('this_session')),
      ),
      h('td', { 'data-label': t('signed_in'), class: 'number' }, created_at),
      h('td', { 'data-label': t('ends_in'), class: 'number' }, duration(timeout_seconds)),
      h('td', { 'data-label': t('device') }, device === '' ? '–' : device),
      may('end') &&
        h(
          'td',
          { class: 'actions' },
          h(
            'button',
            { type: 'button', class: 'small danger', 'data-key': token, onclick: () => askToEnd(token) },
            t('end'),
          ),
        ),
    )
  }

  /** @param {string} token */
  function askToEnd(token) {
    confirm({
      title: t('end_one_title'),
      why: [t('end_one_why', { user: name }), ...(isOwnToken(token) ? [t('end_own_why')] : [])],
      action: t('end'),
      async run() {
        await post(`${base}/exit-token`, { user_id: userId, token })
        notify(t('ended_one', { user: name }))
        changed()
      },
    })
  }
}
