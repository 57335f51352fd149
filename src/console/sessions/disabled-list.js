import { addressOf } from '../address.js'
import { get, post, serves } from '../api.js'
import { openDialog } from '../elements/dialogs.js'
import { h, notify, show } from '../elements/dom.js'
import { onceAtATime } from '../elements/forms.js'
import { createPaged } from '../elements/paged.js'
import { turning } from '../elements/paging.js'
import { DASH, rowButton, table } from '../elements/tables.js'
import { count, duration } from '../language/format.js'
import { t } from '../language/language.js'
import { can } from '../session.js'

/**
 * @typedef {{ user_id: string, type: string, until: string | null, disable_time: number | null }} DisabledId
 * @typedef {{ records: DisabledId[], total: number, page: number, pages: number }} DisabledPage
 * @typedef {{ base: string, done: () => void }} Side The endpoints of a side; `done` is called after a change.
 */

/**
 * Shows the disabled login ids of a side, online or not, each with a button to enable it.
 *
 * @param {Side} side
 */
export function openDisabledList({ base, done }) {
  const query = { current: 1, size: 10 }
  const found = h('p', { class: 'quiet', role: 'status' })
  const list = h('div', { class: 'disabled-list' }, h('p', { class: 'quiet' }, t('loading')))
  /** @param {typeof query} requested @returns {Promise<DisabledPage>} */
  const load = requested => get(`${base}/disabled-page`, { ...requested })
  const paged = createPaged({ query, load, loaded: fill, list })
  const pages = h('div', { class: 'pages' })
  openDialog({
    title: t('disabled_ids'),
    wide: true,
    body: [h('p', {}, t('disabled_ids_detail')), paged.trouble, found, list, pages],
  })
  void paged.reload()

  function fill() {
    const page = paged.page()
    if (page === null) return
    found.textContent = t('disabled_found', { n: count(page.total) })
    show(list, page.records.length > 0 && disabledTable(page.records, { enable, reload }))
    show(pages, ...(page.total === 0 ? [] : turning(page, query.size, paged.request, 'disabled-rows')))
  }

  /** @param {string} userId */
  async function enable(userId) {
    await post(`${base}/untie-disable`, { user_id: userId })
    notify(t('enabled_done', { user: userId }))
  }

  async function reload() {
    await paged.reload()
    done()
  }
}

/**
 * @param {DisabledId[]} ids
 * @param {{ enable: (userId: string) => Promise<void>, reload: () => Promise<void> }} actions
 */
const disabledTable = (ids, { enable, reload }) =>
  table({
    caption: t('disabled_ids'),
    columns: [
      { label: t('login_id'), look: 'who', isUnlabelled: true },
      { label: t('disable_ends'), look: 'number' },
      { label: t('ends_in'), look: 'number' },
      { label: t('actions'), look: 'actions' },
    ],
    items: ids,
    row: ({ user_id: userId, type, until, disable_time }) => [
      h('code', {}, userId),
      until ?? DASH,
      duration(disable_time ?? -1),
      [
        hasJournal() && h('a', { href: journalOf(userId, type) }, t('journal')),
        rowButton({
          key: `enable ${userId}`,
          text: t('enable'),
          about: userId,
          onclick: onceAtATime(() => enable(userId), reload),
        }),
      ],
    ],
  })

const hasJournal = () => serves('sys/journal/page') && can('journal')

/**
 * Who disabled a login id stands in the journal.
 *
 * @param {string} userId
 * @param {string} type
 */
const journalOf = (userId, type) => addressOf('journal', { login_id: userId, event: 'disable', type })
