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

/** @typedef {{ base: string, keyword: string, current: number, size: number }} Query */

/**
 * The list of online users of one side, with search and pages.
 *
 * @param {Element} place
 * @param {{ changed: () => void }} options `changed` is called after an action on a user, and
 *   when other users have to be loaded.
 */
export function createUsers(place, { changed }) {
  /** @type {Query} */
  const query = { base: '', keyword: '', current: 1, size: 10 }
  /** @type {Page | null} */
  let page = null
  const search = createSearch(keyword => request({ keyword, current: 1 }))
  const found = h('span', { class: 'quiet' })
  const list = h('div', { class: 'user-list' })
  const pages = h('div', { class: 'pages' })

  /** @param {Partial<Query>} change */
  function request(change) {
    Object.assign(query, change)
    changed()
  }

  function draw() {
    const check =
      can('disable') && checkButton({ base: query.base, done: changed }, { class: 'small', 'data-key': 'check-id' })
    const header = h('header', {}, h('h2', {}, t('users')), found, search.draw(), check)
    show(place, h('section', { class: 'panel users' }, header, list, pages))
    fill()
  }

  function fill() {
    const { base, keyword } = query
    if (page === null) {
      found.textContent = ''
      show(list, h('p', { class: 'empty quiet' }, t('loading')))
      show(pages)
      return
    }
    found.textContent = t(keyword === '' ? 'found' : 'found_search', { n: count(page.total) })
    show(list, page.records.length === 0 ? nothing(query, changed) : userTable(page.records, { base, changed }))
    show(pages, ...(page.total === 0 ? [] : turning(page, query.size, request)))
  }

  return {
    draw,
    /** @param {string} side The endpoints of another side. */
    showSide(side) {
      Object.assign(query, { base: side, current: 1 })
      page = null
      draw()
    },
    async load() {
      const { base, ...requested } = query
      /** @type {Page} */
      const answer = await get(`${base}/page`, { ...requested })
      // Meanwhile something else was requested.
      if (JSON.stringify(query) !== JSON.stringify({ base, ...requested })) return
      page = answer
      if (page.records.length === 0 && page.pages > 0 && query.current > page.pages)
        return request({ current: page.pages })
      fill()
    },
  }
}

/**
 * The search field. It searches shortly after the last key press, or when it is submitted.
 *
 * @param {(keyword: string) => void} find
 */
function createSearch(find) {
  let keyword = ''
  let typing = 0
  const input = h('input', {
    type: 'search',
    id: 'keyword',
    maxlength: 128,
    autocomplete: 'off',
    spellcheck: 'false',
    oninput: () => {
      clearTimeout(typing)
      typing = window.setTimeout(submit, TYPING)
    },
  })

  function submit() {
    clearTimeout(typing)
    if (input.value.trim() === keyword) return
    keyword = input.value.trim()
    find(keyword)
  }

  /** @param {Event} event */
  function submitted(event) {
    event.preventDefault()
    submit()
  }

  return {
    draw() {
      input.placeholder = t('search_hint')
      input.setAttribute('aria-label', `${t('search')}: ${t('search_hint')}`)
      return h('form', { role: 'search', onsubmit: submitted }, input)
    },
  }
}

/**
 * Opens the check of a login id.
 *
 * @param {Parameters<typeof openLoginIdCheck>[0]} options
 * @param {import('./dom.js').Attributes} attributes
 */
const checkButton = (options, attributes) =>
  h('button', { type: 'button', ...attributes, onclick: () => openLoginIdCheck(options) }, `${t('check_id')}…`)

/**
 * Shown instead of an empty list.
 *
 * @param {Query} query
 * @param {() => void} done
 */
function nothing({ base, keyword }, done) {
  if (keyword === '')
    return h('div', { class: 'empty' }, h('p', {}, t('no_users')), h('p', { class: 'quiet' }, t('no_users_detail')))
  return h(
    'div',
    { class: 'empty' },
    h('p', {}, t('no_match', { keyword })),
    h('p', { class: 'quiet' }, t('no_match_detail')),
    can('disable') && checkButton({ base, userId: keyword, done }, { 'data-key': 'check' }),
  )
}

/**
 * The controls below the list.
 *
 * @param {Page} shown
 * @param {number} size
 * @param {(change: Partial<Query>) => void} request
 */
function turning({ page: number, pages: last }, size, request) {
  /** @type {HTMLSelectElement} */
  const rows = h(
    'select',
    { id: 'rows', 'data-key': 'rows', onchange: () => request({ size: Number(rows.value), current: 1 }) },
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
        onclick: () => request({ current: to }),
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
