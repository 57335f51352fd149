import { addressOf } from '../address.js'
import { h } from '../elements/dom.js'
import { table } from '../elements/tables.js'
import { t } from '../language/language.js'
import { can, isOwner } from '../session.js'
import { lastUse, madeBy, nameCell } from './listed.js'
import { revokeButton } from './revoke.js'
import { SIDES } from './sides.js'

/** @typedef {import('./listed.js').Key} Key */
/** @typedef {{ type: import('../elements/sides.js').SideName, changed: () => void }} Side `changed` is called after a change. */

/**
 * Keys of all users of a side.
 *
 * @param {Key[]} keys
 * @param {Side} side
 * @param {import('../elements/sorting.js').Sorting | false} sorting
 */
export const keyTable = (keys, side, sorting) =>
  table({
    caption: t('keys'),
    columns: [
      { label: t('key'), look: 'who', isUnlabelled: true, by: ({ name }) => name },
      { label: t('owner'), by: ({ username }) => username },
      { label: t('valid_until'), look: 'number', by: key => key.expires_at },
      { label: t('last_used'), look: 'number', by: key => key.last_used_at },
      { label: t('made_by') },
      ...(can('editKeys') ? [{ label: t('actions'), look: 'actions' }] : []),
    ],
    items: keys,
    row: key => row(key, side),
    sorting,
  })

/**
 * @param {Key} key
 * @param {Side} side
 */
function row(key, { type, changed }) {
  const { id, user_id, username } = key
  const { address, base } = SIDES[type]
  return [
    nameCell(key, type),
    [
      h('a', { href: addressOf(address, { user_id }), title: t('only_user') }, username),
      isOwner(base, user_id) && h('span', { class: 'tag own' }, t('you')),
      h('span', { class: 'quiet' }, h('code', {}, user_id)),
    ],
    key.expires_at,
    lastUse(key),
    madeBy(key, type),
    ...(can('editKeys')
      ? [
          revokeButton(key, {
            route: `${base}/revoke`,
            body: { user_id, id },
            details: [t('revoke_owner_detail', { user: username })],
            done: changed,
          }),
        ]
      : []),
  ]
}
