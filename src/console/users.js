import { get, settings } from './api.js'
import { openLoginIdCheck } from './disable.js'
import { h, show } from './dom.js'
import { count } from './format.js'
import { t } from './language.js'
import { can } from './session.js'
import { userTable } from './user-table.js'

/** @typedef {{ records: import('./user-table.js').User[], total: number, page: number, size: number, pages: number }} Page */

const SIZES = [10, 20, 50, 100]
/** Milliseconds after the last key press before the search starts. */
const TYPING = 250

/**
 * The list of online users of one side, with search and pages.
 *
 * @param {Element} place
 * @param {{ changed: () => void }} options `changed` is called after an action on a user, and
 *   when other users have to be loaded.
 */
export function createUsers(place, { changed }) {
  let base = ''
  let keyword = ''
  let current = 1
  let size = 10
  let typing = 0
  /** @type {Page | null} */
  let page = null

  const search = h('input', {
    type: 'search',
    id: 'keyword',
    maxlength: 128,
    autocomplete: 'off',
    spellcheck: 'false',
    oninput: typed,
  })
  const found = h('span', { class: 'quiet' })
  const list = h('div', { class: 'user-list' })
  const pages = h('div', { class: 'pages' })

  function typed() {
    clearTimeout(typing)
    typing = window.setTimeout(find, TYPING)
  }

  /** @param {Event} event */
  function submitted(event) {
    event.preventDefault()
    find()
  }

  function find() {
    clearTimeout(typing)
    if (search.value.trim() === keyword) return
    keyword = search.value.trim()
    current = 1
    changed()
  }

  /** @param {number} number */
  function showPage(number) {
    current = number
    changed()
  }

  /** @param {number} number */
  function showRows(number) {
    size = number
    showPage(1)
  }

  function frame() {
    search.placeholder = t('search_hint')
    search.setAttribute('aria-label', `${t('search')}: ${t('search_hint')}`)
    show(
      place,
      h(
        'section',
        { class: 'panel users' },
        h(
          'header',
          {},
          h('h2', {}, t('users')),
          found,
          h('form', { role: 'search', onsubmit: submitted }, search),
          can('disable') &&
            h(
              'button',
              {
                type: 'button',
                class: 'small',
                'data-key': 'check-id',
                onclick: () => openLoginIdCheck({ base, done: changed }),
              },
              `${t('check_id')}…`,
            ),
        ),
        list,
        pages,
      ),
    )
  }

  function draw() {
    frame()
    fill()
  }

  function fill() {
    if (page === null) {
      found.textContent = ''
      show(list, h('p', { class: 'empty quiet' }, t('loading')))
      show(pages)
      return
    }
    found.textContent = t(keyword === '' ? 'found' : 'found_search', { n: count(page.total) })
    show(list, page.records.length === 0 ? nothing() : userTable(page.records, { base, changed }))
    show(pages, ...(page.total === 0 ? [] : turning(page)))
  }

  function nothing() {
    if (keyword === '')
      return h('div', { class: 'empty' }, h('p', {}, t('no_users')), h('p', { class: 'quiet' }, t('no_users_detail')))
    return h(
      'div',
      { class: 'empty' },
      h('p', {}, t('no_match', { keyword })),
      h('p', { class: 'quiet' }, t('no_match_detail')),
      can('disable') &&
        h(
          'button',
          {
            type: 'button',
            'data-key': 'check',
            onclick: () => openLoginIdCheck({ base, userId: keyword, done: changed }),
          },
          `${t('check_id')}…`,
        ),
    )
  }

  /** @param {Page} shown */
  function turning({ page: number, pages: last }) {
    /** @type {HTMLSelectElement} */
    const rows = h(
      'select',
      { id: 'rows', 'data-key': 'rows', onchange: () => showRows(Number(rows.value)) },
      SIZES.map(n => h('option', { value: n }, n)),
    )
    rows.value = String(size)
    const turn = (/** @type {'previous' | 'next'} */ way, /** @type {number} */ to, /** @type {string} */ sign) =>
      h(
        'button',
        {
          type: 'button',
          'data-key': way,
          'aria-label': t(way),
          disabled: to < 1 || to > last,
          onclick: () => showPage(to),
        },
        sign,
      )
    return [
      h('span', { class: 'quiet zone' }, t('times_in', { zone: settings.timezone })),
      h('label', { for: 'rows', class: 'quiet' }, t('rows')),
      rows,
      h('span', { class: 'number' }, t('page_of', { page: count(number), pages: count(Math.max(last, 1)) })),
      turn('previous', number - 1, '‹'),
      turn('next', number + 1, '›'),
    ]
  }

  return {
    draw,
    /** @param {string} side The endpoints of another side. */
    showSide(side) {
      base = side
      current = 1
      page = null
      draw()
    },
    async load() {
      const requested = JSON.stringify([base, keyword, current, size])
      /** @type {Page} */
      const answer = await get(`${base}/page`, { current, size, keyword })
      // Meanwhile something else was requested.
      if (requested !== JSON.stringify([base, keyword, current, size])) return
      page = answer
      if (page.records.length === 0 && page.pages > 0 && current > page.pages) return showPage(page.pages)
      fill()
    },
  }
}
