import { addressOf } from '../address.js'
import { openDialog } from '../elements/dialogs.js'
import { h } from '../elements/dom.js'
import { facts } from '../elements/facts.js'
import { DASH, table } from '../elements/tables.js'
import { deviceText, nameOf } from '../language/format.js'
import { t } from '../language/language.js'
import { session } from '../session.js'
import { inWords } from './events.js'

/** @typedef {import('./journal.js').JournalRecord} JournalRecord */

/** Events that operators should notice. */
const ALARMING = ['login-failed', 'disable', 'second-factor-reset', 'password-reset', 'account-removed']

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
      { label: t('details') },
      { label: t('address_device') },
    ],
    items: records,
    row: record => row(record, names),
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
      const name = nickname || username
      return user_id === null || !name ? [] : [[user_id, name]]
    }),
  )
}

/**
 * @param {JournalRecord} record
 * @param {ReadonlyMap<string, string>} names
 */
function row(record, names) {
  const { id, event, type, time, address } = record
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
    detail(record),
    [address ?? DASH, device !== DASH && h('span', { class: 'quiet' }, device)],
  ]
}

/**
 * Why, and which key: a rotated one with that which has taken its place.
 *
 * @param {JournalRecord} record
 */
function detail({ event, reason, key, provider }) {
  const by = provider !== null && h('span', { class: 'quiet' }, t('signed_in_by', { provider }))
  if (key === null) return reason === null ? by || DASH : [inWords('reason', reason), by]
  const named = [`${t('key')} `, h('code', {}, key)]
  if (reason === null) return named
  if (event === 'key-rotated') return [...named, ' → ', h('code', {}, reason)]
  return [inWords('reason', reason), h('span', { class: 'quiet' }, named)]
}

/** @param {JournalRecord} record */
function user({ login_id: id, username, nickname }) {
  if (id === null) return DASH
  const name = nameOf({ nickname, username, user_id: id })
  const link = h('a', { href: addressOf('journal', { login_id: id }), title: t('only_user') }, name)
  return [link, name !== id && h('span', { class: 'quiet' }, h('code', {}, id))]
}

/**
 * Who did it, without repeating the user.
 *
 * @param {JournalRecord} record
 * @param {ReadonlyMap<string, string>} names
 */
function doneBy({ by, by_type: side, login_id: user, type }, names) {
  if (by === null) return DASH
  // A login id has a side; without one it is a word of the gateway.
  if (side === null) return inWords('by', by)
  if (by === user && side === type) return t('by_user')
  const [name, id] = [side === 'BUSINESS' ? names.get(by) : undefined, h('code', {}, by)]
  const tag = side === 'CONSUMER' && h('span', { class: 'tag' }, t(side))
  return name === undefined ? [id, tag] : [name, h('span', { class: 'quiet' }, id)]
}

/**
 * @param {JournalRecord} record
 * @param {ReadonlyMap<string, string>} names
 */
function openEntry(record, names) {
  const code = (/** @type {string | null} */ text) => text !== null && h('code', {}, text)
  // Its reason is the id of another key.
  const isRotation = record.event === 'key-rotated'
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
        [t('provider'), code(record.provider)],
        [t('key_id'), code(record.key)],
        isRotation
          ? [t('new_key'), code(record.reason)]
          : [t('reason'), record.reason !== null && inWords('reason', record.reason)],
        [t('address'), record.address],
        [t('device'), deviceText(record.device_type, record.device_id)],
        [t('handle'), code(record.jti)],
        [t('trace_id'), code(record.trace_id)],
      ]),
    ],
  })
}
