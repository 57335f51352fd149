import { addressOf } from '../address.js'
import { openDialog } from '../elements/dialogs.js'
import { h } from '../elements/dom.js'
import { facts } from '../elements/facts.js'
import { DASH, table } from '../elements/tables.js'
import { deviceText } from '../language/format.js'
import { t } from '../language/language.js'
import { session } from '../session.js'
import { inWords } from './events.js'

/** @typedef {import('./journal.js').JournalRecord} JournalRecord */

/** Events that operators should notice. */
const ALARMING = ['login-failed', 'disable', 'second-factor-reset', 'password-reset', 'account-removed']

/**
 * What only the user does. Anything else may be by an administrator: their login ids are those of the B side, and a user of the C
 * side may have the same.
 */
const BY_USERS = ['login', 'login-failed', 'logout', 'password-changed', 'second-factor-on', 'second-factor-off']

/** @param {JournalRecord[]} records */
export function journalTable(records) {
  const names = administratorsIn(records)
  return table({
    caption: t('journal'),
    columns: [
      { label: t('event'), look: 'who', isUnlabelled: true },
      { label: t('time'), look: 'number' },
      { label: t('user') },
      { label: t('done_by') },
      { label: t('reason') },
      { label: t('address_device') },
    ],
    rows: records.map(record => row(record, names)),
  })
}

/**
 * The names of users of the B side, of whom an entry has the login id alone where they did something: as far as the entries, or
 * the session of this page, tell them.
 *
 * @param {JournalRecord[]} records
 * @returns {ReadonlyMap<string, string>}
 */
function administratorsIn(records) {
  const { owner } = session
  const users = records
    .filter(({ type }) => type === 'BUSINESS')
    .map(record => ({ ...record, user_id: record.login_id }))
  return new Map(
    [...users, ...(owner === null ? [] : [owner])].flatMap(({ user_id, nickname, username }) => {
      const name = nickname ?? username
      return user_id === null || name === null ? [] : [[user_id, name]]
    }),
  )
}

/**
 * @param {JournalRecord} record
 * @param {ReadonlyMap<string, string>} names
 */
function row(record, names) {
  const { id, event, type, time, reason, address } = record
  const device = deviceText(record.device_type, record.device_id)
  return [
    [
      h(
        'button',
        {
          type: 'button',
          class: ALARMING.includes(event) ? 'link alarming' : 'link',
          'data-key': `entry ${id}`,
          onclick: () => openEntry(record, names),
        },
        inWords('event', event),
      ),
      type === 'CONSUMER' && h('span', { class: 'tag' }, t(type)),
    ],
    time,
    user(record),
    doneBy(record, names),
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

/**
 * Who did it, without repeating the user.
 *
 * @param {JournalRecord} record
 * @param {ReadonlyMap<string, string>} names
 */
function doneBy({ by, login_id: user, type, event }, names) {
  if (by === null) return DASH
  if (by === user && (type === 'BUSINESS' || BY_USERS.includes(event))) return t('by_user')
  const text = inWords('by', by)
  if (text !== by) return text
  const [name, id] = [names.get(by), h('code', {}, by)]
  return name === undefined ? id : [name, h('span', { class: 'quiet' }, id)]
}

/**
 * @param {JournalRecord} record
 * @param {ReadonlyMap<string, string>} names
 */
function openEntry(record, names) {
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
        [t('done_by'), record.by !== null && doneBy(record, names)],
        [t('reason'), record.reason !== null && inWords('reason', record.reason)],
        [t('address'), record.address],
        [t('device'), deviceText(record.device_type, record.device_id)],
        [t('handle'), code(record.jti)],
        [t('trace_id'), code(record.trace_id)],
      ]),
    ],
  })
}
