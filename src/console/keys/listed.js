import { openDialog } from '../elements/dialogs.js'
import { h } from '../elements/dom.js'
import { facts } from '../elements/facts.js'
import { inWords } from '../journal/events.js'
import { count } from '../language/format.js'
import { t } from '../language/language.js'
import { session } from '../session.js'

/**
 * @typedef {object} Limits `null` is no limit.
 * @property {string[] | null} permissions
 * @property {string[] | null} paths Their beginnings.
 * @property {string[] | null} addresses Of clients, and networks.
 */

/**
 * @typedef {object} Listed
 * @property {string} id
 * @property {string} name
 * @property {string} hint Its first characters.
 * @property {string} user_id The login id of its owner.
 * @property {string} username
 * @property {string} created_at
 * @property {string} expires_at
 * @property {string | null} last_used_at
 * @property {string} created_by A login id, or `command line`.
 * @property {import('../elements/sides.js').SideName | null} created_by_type The side of the login id; `null` for the words.
 * @property {boolean} replaced Whether another one has taken its place.
 */

/** @typedef {Listed & Limits} Key A key as the gateway lists it. */

/** Of each limit, so many values are shown in a list. */
const SHOWN = 3

/** @param {string[]} values */
const shortList = values =>
  values.slice(0, SHOWN).join(', ') + (values.length > SHOWN ? t('and_more', { n: count(values.length - SHOWN) }) : '')

/**
 * The limits of a key in words, each a text of its own.
 *
 * @param {Limits} limits
 */
export function limitTexts({ permissions, paths, addresses }) {
  const texts = [
    permissions !== null &&
      (permissions.length === 0 ? t('without_permissions') : t('limit_permissions', { list: shortList(permissions) })),
    paths !== null && t('limit_paths', { list: shortList(paths) }),
    addresses !== null && t('limit_addresses', { list: shortList(addresses) }),
  ].filter(text => text !== false)
  return texts.length === 0 ? [t('unlimited')] : texts
}

/**
 * The name of a key in a list, which opens everything about it.
 *
 * @param {Key} key
 * @param {import('../elements/sides.js').SideName} type The side of the key.
 */
export const nameCell = (key, type) => [
  h(
    'button',
    { type: 'button', class: 'link', 'data-key': `key ${key.id}`, onclick: () => openKey(key, type) },
    key.name,
  ),
  key.replaced && h('span', { class: 'tag off' }, t('key_replaced')),
  h('span', { class: 'quiet' }, h('code', {}, `${key.hint}…`)),
]

/** @param {Key} key */
export const lastUse = ({ last_used_at: time }) => time ?? t('never_used')

/**
 * Who made a key, without repeating its owner.
 *
 * @param {Key} key
 * @param {import('../elements/sides.js').SideName} type The side of the key.
 */
export function madeBy({ created_by: by, created_by_type: side, user_id: owner }, type) {
  // A login id has a side; without one it is a word of the gateway.
  if (side === null) return inWords('by', by)
  if (by === owner && side === type) return t('by_user')
  const isYou = side === 'BUSINESS' && by === session.owner?.user_id
  return [h('code', {}, by), isYou && h('span', { class: 'tag own' }, t('you'))]
}

/**
 * @param {Key} key
 * @param {import('../elements/sides.js').SideName} type
 */
function openKey(key, type) {
  const { permissions, paths, addresses } = key
  const lines = (/** @type {string[]} */ values) => values.map(value => h('code', { class: 'line' }, value))
  const permitted = permissions?.length === 0 ? t('without_permissions') : permissions && lines(permissions)
  openDialog({
    title: key.name,
    body: [
      facts([
        [t('key'), h('code', {}, `${key.hint}…`)],
        [t('key_id'), h('code', {}, key.id)],
        [t('owner'), [key.username, ' ', h('code', {}, key.user_id)]],
        [t('made'), key.created_at],
        [t('made_by'), madeBy(key, type)],
        [t('valid_until'), key.expires_at],
        [t('last_used'), lastUse(key)],
        [t('permissions'), permitted ?? t('every_permission')],
        [t('paths'), paths === null ? t('every_path') : lines(paths)],
        [t('addresses'), addresses === null ? t('every_address') : lines(addresses)],
      ]),
    ],
  })
}
