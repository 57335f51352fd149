import { addressOf } from '../address.js'
import { openDialog } from '../elements/dialogs.js'
import { h } from '../elements/dom.js'
import { facts } from '../elements/facts.js'
import { DASH, table } from '../elements/tables.js'
import { deviceText } from '../language/format.js'
import { t } from '../language/language.js'
import { inWords } from './events.js'

/** @typedef {import('./journal.js').JournalRecord} JournalRecord */

/** Events that operators should notice. */
const ALARMING = ['login-failed', 'disable', 'second-factor-reset', 'password-reset', 'account-removed']

/** @param {JournalRecord[]} records */
export const journalTable = records =>
  table({
    caption: t('journal'),
    columns: [
      { label: t('event'), look: 'who', isUnlabelled: true },
      { label: t('time'), look: 'number' },
      { label: t('user') },
      { label: t('done_by') },
      { label: t('reason') },
      { label: t('address_device') },
    ],
    rows: records.map(row),
  })

/** @param {JournalRecord} record */
function row(record) {
  const { id, event, type, time, by, reason, address } = record
  const device = deviceText(record.device_type, record.device_id)
  return [
    [
      h(
        'button',
        {
          type: 'button',
          class: ALARMING.includes(event) ? 'link alarming' : 'link',
          'data-key': `entry ${id}`,
          onclick: () => openEntry(record),
        },
        inWords('event', event),
      ),
      type === 'CONSUMER' && h('span', { class: 'tag' }, t(type)),
    ],
    time,
    user(record),
    by === null ? DASH : inWords('by', by),
    reason === null ? DASH : inWords('reason', reason),
    [address ?? DASH, device !== DASH && h('span', { class: 'quiet' }, device)],
  ]
}

/** @param {JournalRecord} record */
function user({ login_id: id, username, nickname }) {
  if (id === null) return DASH
  const name = nickname ?? username
  const link = h('a', { href: addressOf('journal', { login_id: id }), title: t('only_user') }, name ?? id)
  return [link, name !== null && h('span', { class: 'quiet' }, h('code', {}, id))]
}

/** @param {JournalRecord} record */
function openEntry(record) {
  const code = (/** @type {string | null} */ text) => text !== null && h('code', {}, text)
  openDialog({
    title: inWords('event', record.event),
    body: [
      facts([
        [t('time'), record.time],
        [t('side'), t(record.type)],
        [t('user_id'), code(record.login_id)],
        [t('username'), record.username],
        [t('nickname'), record.nickname],
        [t('done_by'), record.by !== null && inWords('by', record.by)],
        [t('reason'), record.reason !== null && inWords('reason', record.reason)],
        [t('address'), record.address],
        [t('device'), deviceText(record.device_type, record.device_id)],
        [t('handle'), code(record.jti)],
        [t('trace_id'), code(record.trace_id)],
      ]),
    ],
  })
}
