import { h } from '../elements/dom.js'
import { t } from '../language/language.js'

/**
 * The columns of a list of sessions that say when each began and when it expires.
 *
 * @returns {import('../elements/tables.js').Column<{ created_at: string, timeout_seconds: number }>[]}
 */
export const sessionTimes = () => [
  { label: t('signed_in'), look: 'number', by: ({ created_at }) => created_at },
  { label: t('ends_in'), look: 'number', by: ({ timeout_seconds }) => byEnd(timeout_seconds) },
]

/**
 * By which provider a session began, beside when it did.
 *
 * @param {{ provider: string | null }} session
 */
export const byProvider = ({ provider }) =>
  provider !== null && h('span', { class: 'quiet' }, t('signed_in_by', { provider }))

/** Sessions of one user that the gateway lists: the newest. */
export const LISTED = 1000

/** What has no end is the last to end. */
export const byEnd = (/** @type {number} */ seconds) => (seconds < 0 ? Number.POSITIVE_INFINITY : seconds)
