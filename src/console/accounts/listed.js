import { settings } from '../api.js'
import { t } from '../language/language.js'
import { can, session } from '../session.js'

/**
 * @typedef {object} ListedAccount
 * @property {string} id
 * @property {string} username
 * @property {string} nickname
 * @property {Status} status
 * @property {boolean} [service] Whether it is the account of a program, which has no password and no second factor.
 * @property {string[]} roles
 * @property {string[]} permissions
 * @property {boolean} second_factor
 * @property {boolean} must_change_password
 * @property {string | null} password_changed_at
 * @property {string | null} last_login_time
 * @property {string} revision
 * @property {boolean} editable Whether the administrator holds all that the account holds.
 */

/** @typedef {'ACTIVE' | 'INACTIVE' | 'LOCKED'} Status */

/** @type {readonly Status[]} */
export const STATUSES = ['ACTIVE', 'INACTIVE', 'LOCKED']

/**
 * @typedef {object} Side A side whose accounts are administered here.
 * @property {string} base The endpoints of its accounts, below `/api/v<n>/`.
 * @property {string} sessions Those of its sessions.
 * @property {boolean} isOwn Whether it is the side of this page's users.
 * @property {import('./roles.js').Role[]} roles Those that the gateway knows.
 * @property {() => void} changed Called after a change.
 */

/** @param {ListedAccount} account */
export const nameOf = ({ nickname, username }) => nickname || username

/**
 * Whether an account is that of the administrator, who changes it under "My account".
 *
 * @param {ListedAccount} account
 * @param {Side} side
 */
export const isOwn = ({ id }, side) => side.isOwn && id === session.owner?.user_id

/**
 * @param {Side} side
 * @returns {import('../elements/sides.js').SideName}
 */
export const nameOfSide = ({ isOwn }) => (isOwn ? 'BUSINESS' : 'CONSUMER')

/**
 * Whether programs of a side may have keys.
 *
 * @param {Side} side
 */
export const hasKeys = side => settings.keys[nameOfSide(side)] !== null

/**
 * What else a reset or the removal of an account ends.
 *
 * @param {Side} side
 */
export const endOfKeys = side => (hasKeys(side) ? [t('keys_end')] : [])

/** @param {ListedAccount} account */
export const isEditable = ({ editable }) => editable && can('editAccounts')
