import { get, serves } from '../api.js'
import { h, show } from '../elements/dom.js'
import { facts } from '../elements/facts.js'
import { createLoads } from '../elements/loads.js'
import { createTrouble } from '../elements/trouble.js'
import { t } from '../language/language.js'
import { createOwnKeys } from './own-keys.js'
import { createOwnSessions } from './own-sessions.js'
import { passwordPanel } from './password.js'
import { secondFactorPanel } from './second-factor.js'
import { wrongCodesText } from './wrong-codes.js'

/**
 * @typedef {object} Account
 * @property {string} user_id
 * @property {string | null} username
 * @property {string | null} nickname
 * @property {string[] | null} roles
 * @property {string[] | null} permissions With those of the roles; `null` without an account that the gateway knows.
 * @property {boolean | null} second_factor
 * @property {boolean | null} second_factor_required
 * @property {number | null} recovery_codes_left
 * @property {string | null} password_changed_at
 * @property {number} wrong_codes Entered before the login of this session.
 * @property {string[]} can What can be changed here.
 */

/**
 * The page of the own account.
 *
 * @param {HTMLElement} place
 * @returns {import('../pages.js').Page}
 */
export function createAccount(place) {
  /** @type {Account | null} */
  let account = null
  const begin = createLoads()
  const trouble = createTrouble(() => void load())
  const panels = h('div', { class: 'panels' })
  const keys = serves('b/account/keys') ? createOwnKeys() : null
  const sessions = serves('b/session/tokens') ? createOwnSessions() : null

  async function load() {
    const isNewest = begin()
    try {
      const loaded = await get('b/account')
      if (!isNewest()) return
      account = loaded
      trouble.clear()
      drawPanels()
      keys?.show(loaded)
    } catch (problem) {
      if (!isNewest()) return
      if (account === null) show(panels)
      trouble.report(problem)
    }
  }

  /** After a change of the account, which may have ended other sessions. */
  function changed() {
    void load()
    void sessions?.load()
  }

  function drawPanels() {
    if (account === null) return show(panels, h('p', { class: 'quiet' }, t('loading')))
    const { can } = account
    show(
      panels,
      profilePanel(account),
      can.includes('password') && passwordPanel(account, changed),
      can.includes('second-factor') && secondFactorPanel(account, changed),
    )
  }

  void load()
  void keys?.load()
  void sessions?.load()
  return {
    draw() {
      drawPanels()
      keys?.draw()
      sessions?.draw()
      show(place, trouble.element, panels, keys?.element, sessions?.element)
    },
  }
}

/** @param {Account} account */
const profilePanel = ({ user_id, username, nickname, roles, wrong_codes: wrong }) =>
  h(
    'section',
    { class: 'panel' },
    h('h2', {}, t('profile')),
    facts([
      [t('nickname'), nickname],
      [t('username'), username],
      [t('user_id'), h('code', {}, user_id)],
      [t('roles'), roles !== null && (roles.length === 0 ? t('no_roles') : roles.join(', '))],
    ]),
    wrong > 0 && h('p', { class: 'advice', 'data-key': 'wrong-codes' }, wrongCodesText(wrong)),
  )
