import { currentAddress } from '../address.js'
import { get, serves } from '../api.js'
import { h, show } from '../elements/dom.js'
import { createLoads } from '../elements/loads.js'
import { zone } from '../elements/paging.js'
import { createTrouble } from '../elements/trouble.js'
import { t } from '../language/language.js'
import { exportButton } from './export.js'
import { journalFilter } from './filter.js'
import { journalTable } from './journal-table.js'

/** Records that are loaded at once. */
const SIZE = 50

/**
 * @typedef {object} JournalRecord
 * @property {string} id
 * @property {string} time
 * @property {string} event
 * @property {'BUSINESS' | 'CONSUMER'} type
 * @property {string | null} login_id Whom it happened to.
 * @property {string | null} username
 * @property {string | null} nickname
 * @property {string | null} by Who did it: a login id, `operations` or `command line`.
 * @property {'BUSINESS' | 'CONSUMER' | null} by_type The side of the login id; `null` for the words.
 * @property {string | null} reason
 * @property {string | null} address
 * @property {string | null} device_type
 * @property {string | null} device_id
 * @property {string | null} jti
 * @property {string | null} key The id of the key, where it is about one.
 * @property {string | null} provider The name of the OpenID provider, where it came by one.
 * @property {string | null} trace_id
 */

/**
 * The page of the journal. Its filter stands in the address.
 *
 * @param {HTMLElement} place
 * @returns {import('../pages.js').Page}
 */
export function createJournal(place) {
  /** @type {JournalRecord[] | null} */
  let records = null
  let next = /** @type {string | null} */ (null)
  const begin = createLoads()
  let requested = /** @type {string | null} The cursor of the last request. */ (null)
  const trouble = createTrouble(() => void load(requested))
  const filter = h('div', {})
  const list = h('div', { class: 'journal-list' })
  const pages = h('div', { class: 'pages' })

  /** @param {string | null} cursor `null` begins with the newest. */
  async function load(cursor) {
    const { query } = currentAddress()
    const isNewest = begin()
    requested = cursor
    try {
      const answer = await get('sys/journal/page', { ...query, size: SIZE, ...(cursor !== null && { cursor }) })
      if (!isNewest()) return
      records = cursor === null ? answer.records : [...(records ?? []), ...answer.records]
      next = answer.next
      trouble.clear()
      fill()
    } catch (problem) {
      if (!isNewest()) return
      if (records === null) show(list)
      trouble.report(problem)
    }
  }

  function fill() {
    if (records === null) {
      show(list, h('p', { class: 'empty quiet' }, t('loading')))
      return show(pages)
    }
    show(list, records.length === 0 ? h('div', { class: 'empty' }, h('p', {}, t('no_entries'))) : journalTable(records))
    const cursor = next
    show(pages, zone(), cursor === null ? records.length > 0 && theEnd() : moreButton(() => void load(cursor)))
  }

  const reload = () => void load(null)
  const drawFilter = () => show(filter, journalFilter(currentAddress().query, reload))

  reload()
  return {
    draw() {
      drawFilter()
      fill()
      const header = h('header', {}, h('h2', {}, t('journal')), serves('sys/journal/export') && exportButton())
      show(place, trouble.element, h('section', { class: 'panel' }, header, filter, list, pages))
    },
    turn() {
      records = null
      drawFilter()
      fill()
      reload()
    },
  }
}

const theEnd = () => h('span', { class: 'quiet' }, t('all_entries'))

/** @param {() => void} onclick */
const moreButton = onclick => h('button', { type: 'button', 'data-key': 'more', onclick }, t('load_more'))
