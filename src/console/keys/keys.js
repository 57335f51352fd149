import { go } from '../address.js'
import { get } from '../api.js'
import { h, show } from '../elements/dom.js'
import { field, textInput } from '../elements/forms.js'
import { createPaged } from '../elements/paged.js'
import { turning } from '../elements/paging.js'
import { createSorting } from '../elements/sorting.js'
import { count } from '../language/format.js'
import { t } from '../language/language.js'
import { keyTable } from './key-table.js'
import { SIDES, sideChoice, sideOf } from './sides.js'

/** @typedef {import('../elements/sides.js').SideName} SideName */
/** @typedef {{ records: import('./listed.js').Key[], total: number, page: number, pages: number }} KeyPage */

/**
 * The page of the keys of all users. The side and the owner stand in its address.
 *
 * @param {HTMLElement} place
 * @param {import('../address.js').Address} address
 * @returns {import('../pages.js').Page}
 */
export function createKeys(place, address) {
  const list = createList()
  let shown = shownAt(address)
  const draw = () => show(place, h('div', { class: 'bar' }, sideChoice(shown.type)), list.draw())
  list.begin(shown)
  return {
    draw,
    turn(next) {
      shown = shownAt(next)
      list.begin(shown)
      draw()
    },
  }
}

/** @typedef {{ type: SideName, owner: string }} Shown An empty owner for all. */

/**
 * @param {import('../address.js').Address} address
 * @returns {Shown}
 */
const shownAt = address => ({ type: sideOf(address), owner: address.query.user_id ?? '' })

/** The list of keys, with its filter and pages. */
function createList() {
  const query = { type: /** @type {SideName} */ ('BUSINESS'), owner: '', current: 1, size: 10 }
  const list = h('div', { class: 'key-list' })
  const paged = createPaged({ query, load: requestPage, loaded: fill, list })
  const found = h('span', { class: 'quiet', role: 'status' })
  const pages = h('div', { class: 'pages' })
  const sorting = createSorting(fill)
  const side = () => ({ type: query.type, changed: () => void paged.reload() })

  function fill() {
    const page = paged.page()
    found.textContent = page === null ? '' : t('keys_found', { n: count(page.total) })
    if (page === null) {
      show(list, h('p', { class: 'empty quiet' }, t('loading')))
      return show(pages)
    }
    show(list, page.records.length === 0 ? nothing(query) : keyTable(page.records, side(), page.pages === 1 && sorting))
    show(pages, turning(page, query.size, paged.request))
  }

  return {
    draw() {
      const header = h('header', {}, h('h2', {}, t('keys')), found)
      fill()
      return h('section', { class: 'panel' }, header, ownerFilter(query, paged.reload), paged.trouble, list, pages)
    },
    begin: (/** @type {Shown} */ shown) => paged.begin(shown),
  }
}

/**
 * @param {Shown & import('../elements/paging.js').Position} query
 * @returns {Promise<KeyPage>}
 */
const requestPage = ({ type, owner, ...others }) =>
  get(`${SIDES[type].base}/page`, { ...others, ...(owner !== '' && { user_id: owner }) })

/** @param {Shown} shown */
const nothing = ({ owner }) => h('div', { class: 'empty' }, h('p', {}, t(owner === '' ? 'no_keys' : 'no_keys_of')))

/**
 * The filter. It opens another address, so that the back button returns to the list before.
 *
 * @param {Shown} shown
 * @param {() => Promise<void>} reload Called if it has not changed.
 */
function ownerFilter({ type, owner }, reload) {
  const { address } = SIDES[type]
  const input = textInput('key-owner', { maxlength: 128, value: owner })

  /** @param {Event} submitted */
  function apply(submitted) {
    submitted.preventDefault()
    const query = { user_id: input.value.trim() }
    if (query.user_id === owner) void reload()
    else go(address, query)
  }

  return h(
    'form',
    { class: 'filter single', onsubmit: apply },
    field({ id: 'key-owner', label: t('owner_id'), input }),
    h(
      'div',
      { class: 'buttons' },
      h('button', { type: 'submit', class: 'primary', 'data-key': 'apply' }, t('show')),
      owner !== '' && h('button', { type: 'button', 'data-key': 'reset', onclick: () => go(address) }, t('show_all')),
    ),
  )
}
