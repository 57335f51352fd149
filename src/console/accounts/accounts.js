import { get } from '../api.js'
import { h, show } from '../elements/dom.js'
import { createSearch, turning } from '../elements/paging.js'
import { createSorting } from '../elements/sorting.js'
import { createTrouble } from '../elements/trouble.js'
import { count } from '../language/format.js'
import { t } from '../language/language.js'
import { can } from '../session.js'
import { accountTable } from './account-table.js'
import { openAdd } from './add.js'
import { STATUSES } from './listed.js'
import { requestRoles } from './roles.js'
import { SIDES, sideChoice, sideOf } from './sides.js'

/** @typedef {import('../elements/sides.js').SideName} SideName */
/**
 * @typedef {{ records: import('./listed.js').ListedAccount[], total: number, page: number, pages: number }} AccountPage
 */

/**
 * The page of accounts.
 *
 * @param {HTMLElement} place
 * @param {import('../address.js').Address} address
 * @returns {import('../pages.js').Page}
 */
export function createAccounts(place, address) {
  let side = sideOf(address)
  const list = createList()
  const draw = () => show(place, h('div', { class: 'bar' }, sideChoice(side)), list.draw())
  list.showSide(side)
  return {
    draw,
    turn(next) {
      if (sideOf(next) === side) return
      side = sideOf(next)
      list.showSide(side)
      draw()
    },
  }
}

/** The list of accounts, with search and pages. */
function createList() {
  const query = { side: /** @type {SideName} */ ('BUSINESS'), keyword: '', status: '', current: 1, size: 10 }
  /** @type {AccountPage | null} */
  let page = null
  /** @type {import('./roles.js').Role[]} */
  let roles = []
  const trouble = createTrouble(() => void load())
  const search = createSearch({ hint: 'search_accounts', find: keyword => request({ keyword, current: 1 }) })
  const found = h('span', { class: 'quiet', role: 'status' })
  const list = h('div', { class: 'account-list' })
  const pages = h('div', { class: 'pages' })
  const sorting = createSorting(fill)
  const listed = (/** @type {AccountPage} */ { records, pages: all }) =>
    accountTable(records, administered(), all === 1 && sorting)
  const administered = () => ({ ...SIDES[query.side], roles, changed: () => void load() })

  /** @param {Partial<typeof query>} change */
  function request(change) {
    Object.assign(query, change)
    void load()
  }

  async function load() {
    const requested = JSON.stringify(query)
    try {
      const [answer, known] = await Promise.all([requestPage(query), requestRoles(SIDES[query.side])])
      // Meanwhile something else was requested.
      if (JSON.stringify(query) !== requested) return
      trouble.clear()
      if (answer.records.length === 0 && query.current > 1) return request({ current: Math.max(1, answer.pages) })
      page = answer
      roles = known
      fill()
    } catch (problem) {
      if (JSON.stringify(query) !== requested) return
      if (page === null) show(list)
      trouble.report(problem)
    }
  }

  function fill() {
    if (page === null) return show(list, h('p', { class: 'empty quiet' }, t('loading')))
    found.textContent = t('found_accounts', { n: count(page.total) })
    show(list, page.records.length === 0 ? nothing(query) : listed(page))
    show(pages, turning(page, query.size, request))
  }

  return {
    draw() {
      const add = can('editAccounts') && addButton(() => openAdd(administered()))
      const header = h('header', {}, title(), found, search.draw(), statusChoice(query, request), add)
      fill()
      return h('section', { class: 'panel' }, header, trouble.element, list, pages)
    },
    showSide(/** @type {SideName} */ side) {
      page = null
      request({ side, current: 1 })
    },
  }
}

/**
 * @param {{ side: SideName, keyword: string, status: string, current: number, size: number }} query
 * @returns {Promise<AccountPage>}
 */
const requestPage = ({ side, status, ...others }) =>
  get(`${SIDES[side].base}/page`, { ...others, ...(status !== '' && { status }) })

/** @param {{ keyword: string, status: string }} query */
const nothing = ({ keyword, status }) =>
  h('div', { class: 'empty' }, h('p', {}, t(keyword === '' && status === '' ? 'no_accounts_yet' : 'no_accounts')))

const title = () => h('h2', {}, t('accounts'))

/** @param {() => void} onclick */
const addButton = onclick =>
  h('button', { type: 'button', class: 'primary', 'data-key': 'add', onclick }, `${t('add_account')}…`)

/**
 * @param {{ status: string }} query
 * @param {(change: { status: string, current: number }) => void} request
 */
function statusChoice({ status }, request) {
  /** @type {HTMLSelectElement} */
  const select = h(
    'select',
    {
      'aria-label': t('status'),
      'data-key': 'status',
      onchange: () => request({ status: select.value, current: 1 }),
    },
    h('option', { value: '' }, t('any_status')),
    STATUSES.map(name => h('option', { value: name }, t(`status_${name}`))),
  )
  select.value = status
  return select
}
