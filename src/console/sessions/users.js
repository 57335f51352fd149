import { get } from '../api.js'
import { h, show } from '../elements/dom.js'
import { createSearch, turning } from '../elements/paging.js'
import { count } from '../language/format.js'
import { t } from '../language/language.js'
import { can } from '../session.js'
import { openLoginIdCheck } from './disable.js'
import { userTable } from './user-table.js'

/** @typedef {{ records: import('./user-table.js').User[], total: number, page: number, size: number, pages: number }} Page */

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
  const search = createSearch({ hint: 'search_hint', find: keyword => request({ keyword, current: 1 }) })
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
 * Opens the check of a login id.
 *
 * @param {Parameters<typeof openLoginIdCheck>[0]} options
 * @param {import('../elements/dom.js').Attributes} attributes
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
