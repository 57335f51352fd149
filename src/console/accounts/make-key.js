import { post, serves } from '../api.js'
import { openAddKey } from '../keys/add.js'
import { SIDES } from '../keys/sides.js'
import { t } from '../language/language.js'
import { can } from '../session.js'
import { nameOf, nameOfSide } from './listed.js'

/** @typedef {import('./listed.js').ListedAccount} ListedAccount */
/** @typedef {import('./listed.js').Side} Side */

/**
 * Whether the administrator makes keys for an account: for a service account with no more rights than the own ones.
 *
 * @param {ListedAccount} account
 * @param {Side} side
 */
export const takesKey = ({ service, editable }, side) =>
  service === true && editable && can('editKeys') && serves(`${SIDES[nameOfSide(side)].base}/add`)

/**
 * @param {ListedAccount} account
 * @param {Side} side
 */
export function openMakeKey(account, side) {
  const type = nameOfSide(side)
  openAddKey({
    title: t('make_key_title', { user: nameOf(account) }),
    type,
    detail: t('make_key_detail'),
    all: 'all_permissions',
    held: () => grantedTo(account, side),
    user: () => nameOf(account),
    send: body => post(`${SIDES[type].base}/add`, { ...body, user_id: account.id }),
    done: side.changed,
  })
}

/**
 * The permissions and patterns of an account, with those of its roles.
 *
 * @param {ListedAccount} account
 * @param {Side} side
 */
const grantedTo = ({ roles, permissions }, { roles: known }) => [
  ...new Set([...known.flatMap(role => (roles.includes(role.name) ? role.permissions : [])), ...permissions]),
]
