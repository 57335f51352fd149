import { get, post } from '../api.js'
import { h, setText, show } from '../elements/dom.js'
import { createSearch, turning } from '../elements/paging.js'
import { pointerReleased } from '../elements/pointer.js'
import { createSelection } from '../elements/selection.js'
import { createSorting } from '../elements/sorting.js'
import { count, nameOf } from '../language/format.js'
import { t } from '../language/language.js'
import { can, isOwner } from '../session.js'
import { openLoginIdCheck } from './disable.js'
import { openDisabledList } from './disabled-list.js'
import { confirmEndSeveral } from './end-several.js'
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
  const loaded = createLoaded(query)
  const search = createSearch({ hint: 'search_hint', find: keyword => request({ keyword, current: 1 }) })
  const found = h('span', { class: 'quiet', role: 'status' })
  const list = h('div', { class: 'user-list' })
  const pages = h('div', { class: 'pages' })
  const sorting = createSorting(fill)
  const act = (/** @type {string[]} */ ids) =>
    confirmEndUsers(loaded.page()?.records ?? [], ids, { base: query.base, changed })
  const selection = createSelection({ action: 'end_selected', changed: fill, act })

  /** @param {Partial<Query>} change */
  function request(change) {
    Object.assign(query, change)
    changed()
  }

  function draw() {
    const header = h('header', {}, h('h2', {}, t('users')), found, search.draw(), ...ofLoginIds(query.base, changed))
    show(place, h('section', { class: 'panel users' }, header, list, pages))
    fill()
  }

  function fill() {
    const page = loaded.page()
    setText(found, page === null ? '' : totalText(query, page))
    if (page === null) {
      show(list, !loaded.hasFailed() && h('p', { class: 'empty quiet' }, t('loading')))
      return show(pages)
    }
    const side = { base: query.base, changed }
    show(list, page.records.length === 0 ? nothing(query, changed) : listed(page, { side, selection, sorting }))
    show(pages, ...(page.total === 0 ? [] : turning(page, query.size, request)))
  }

  return {
    draw,
    /** @param {string} side The endpoints of another side. */
    showSide(side) {
      Object.assign(query, { base: side, current: 1 })
      loaded.forget()
      draw()
    },
    /** @param {() => boolean} isNewest Whether nothing was requested after this. */
    async load(isNewest) {
      const page = await loaded.load(isNewest).catch(problem => {
        if (loaded.page() === null) fill()
        throw problem
      })
      const isBeyond = page?.records.length === 0 && page.pages > 0 && query.current > page.pages
      if (isBeyond) request({ current: page.pages })
      else if (page !== null) fill()
    },
  }
}

/**
 * What was loaded last of a query, which requests change.
 *
 * @param {Query} query
 */
function createLoaded(query) {
  /** @type {Page | null} */
  let page = null
  let hasFailed = false
  return {
    /** `null` until it is there. */
    page: () => page,
    hasFailed: () => hasFailed,
    forget() {
      page = null
      hasFailed = false
    },
    /**
     * The page; `null` when it was requested again meanwhile.
     *
     * @param {() => boolean} isNewest
     * @returns {Promise<Page | null>}
     */
    async load(isNewest) {
      const { base, ...requested } = query
      try {
        /** @type {Page} */
        const answer = await get(`${base}/page`, requested)
        await pointerReleased()
        if (!isNewest()) return null
        page = answer
        return page
      } catch (problem) {
        if (isNewest()) hasFailed = true
        throw problem
      }
    },
  }
}

/**
 * What an administrator reads above the list of users.
 *
 * @param {Query} query
 * @param {Page} page
 */
const totalText = ({ keyword }, { total }) => t(keyword === '' ? 'found' : 'found_search', { n: count(total) })

/** @typedef {{ base: string, changed: () => void }} Side */

/**
 * Ends all sessions of several of the users, after one confirmation.
 *
 * @param {import('./user-table.js').User[]} users
 * @param {string[]} ids
 * @param {Side} side
 */
function confirmEndUsers(users, ids, { base, changed }) {
  const ended = users.filter(({ user_id }) => ids.includes(user_id))
  const targets = ended.map(user => ({
    name: nameOf(user),
    isOwn: isOwner(base, user.user_id),
    end: () => post(`${base}/exit`, { user_id: user.user_id }),
  }))
  confirmEndSeveral({ title: t('end_users_title', { n: count(ended.length) }), targets, done: changed })
}

/**
 * The table of a page, and what ends the selected users where that is permitted.
 *
 * @param {Page} page
 * @param {{
 *   side: Side,
 *   selection: ReturnType<typeof createSelection>,
 *   sorting: ReturnType<typeof createSorting>
 * }} options
 */
const listed = ({ records, pages }, { side, selection, sorting }) => [
  can('end') && selection.bar(records.map(({ user_id }) => user_id)),
  userTable(records, { side, selection: can('end') ? selection : null, sorting: pages === 1 && sorting }),
]

/**
 * Opens the check of a login id.
 *
 * @param {Parameters<typeof openLoginIdCheck>[0]} options
 * @param {import('../elements/dom.js').Attributes} attributes
 */
const checkButton = (options, attributes) =>
  h('button', { type: 'button', ...attributes, onclick: () => openLoginIdCheck(options) }, `${t('check_id')}…`)

/**
 * What concerns login ids that need not be online.
 *
 * @param {string} base
 * @param {() => void} done
 */
const ofLoginIds = (base, done) =>
  can('disable')
    ? [
        checkButton({ base, done }, { class: 'small', 'data-key': 'check-id' }),
        h(
          'button',
          {
            type: 'button',
            class: 'small',
            'data-key': 'disabled-ids',
            onclick: () => openDisabledList({ base, done }),
          },
          `${t('disabled_ids')}…`,
        ),
      ]
    : []

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
