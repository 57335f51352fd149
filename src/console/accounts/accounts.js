import { get } from '../api.js'
import { h, show } from '../elements/dom.js'
import { createPaged } from '../elements/paged.js'
import { createSearch, turning } from '../elements/paging.js'
import { createSorting } from '../elements/sorting.js'
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
 * @typedef {{ records: import('./listed.js').ListedAccount[], total: number, page: number, pages: number,
 *   roles: import('./roles.js').Role[] }} AccountPage With the roles that the gateway knows.
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
  const list = h('div', { class: 'account-list' })
  const paged = createPaged({ query, load: requestPage, loaded: fill, list })
  const { request } = paged
  const search = createSearch({ hint: 'search_accounts', find: keyword => request({ keyword, current: 1 }) })
  const found = h('span', { class: 'quiet', role: 'status' })
  const pages = h('div', { class: 'pages' })
  const sorting = createSorting(fill)
  let add = /** @type {HTMLButtonElement | null} */ (null)
  const listed = (/** @type {AccountPage} */ { records, pages: all }) =>
    accountTable(records, administered(), all === 1 && sorting)
  const administered = () => ({
    ...SIDES[query.side],
    roles: paged.page()?.roles ?? [],
    changed: () => void paged.reload(),
  })

  function fill() {
    const page = paged.page()
    found.textContent = page === null ? '' : t('found_accounts', { n: count(page.total) })
    // Without the roles that the gateway knows, an account would be added as if there were none.
    if (add !== null) add.disabled = page === null
    if (page === null) {
      show(list, h('p', { class: 'empty quiet' }, t('loading')))
      return show(pages)
    }
    show(list, page.records.length === 0 ? nothing(query) : listed(page))
    show(pages, turning(page, query.size, request))
  }

  return {
    draw() {
      add = can('editAccounts') ? addButton(() => openAdd(administered())) : null
      const header = h('header', {}, title(), found, search.draw(), statusChoice(query, request), add)
      fill()
      return h('section', { class: 'panel' }, header, paged.trouble, list, pages)
    },
    showSide: (/** @type {SideName} */ side) => paged.begin({ side }),
  }
}

/**
 * @param {{ side: SideName, keyword: string, status: string, current: number, size: number }} query
 * @returns {Promise<AccountPage>}
 */
async function requestPage({ side, status, ...others }) {
  const [page, roles] = await Promise.all([
    get(`${SIDES[side].base}/page`, { ...others, ...(status !== '' && { status }) }),
    requestRoles(SIDES[side]),
  ])
  return { ...page, roles }
}

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
