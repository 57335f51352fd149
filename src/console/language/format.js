import { preferences } from '../preferences.js'
import { t } from './language.js'

/**
 * What a user is called. Sources of accounts may return empty names.
 *
 * @param {{ nickname: string | null, username: string | null, user_id: string }} user
 */
export const nameOf = ({ nickname, username, user_id }) => nickname || username || user_id

/** @param {number} number */
export const count = number => new Intl.NumberFormat(preferences.language).format(number)

/**
 * A number in compact form, for narrow places: a million is 1M.
 *
 * @param {number} number
 */
export const compact = number =>
  number < 100_000 ? count(number) : new Intl.NumberFormat(preferences.language, { notation: 'compact' }).format(number)

const MINUTE = 60
const HOUR = 3600
const DAY = 86_400

/**
 * A remaining time, in at most two units.
 *
 * @param {number} seconds Negative: no limit.
 */
export function duration(seconds) {
  if (seconds < 0) return t('endless')
  if (seconds < MINUTE) return t('n_seconds', { n: seconds })
  if (seconds < HOUR) return t('n_minutes', { n: Math.floor(seconds / MINUTE) })
  if (seconds < DAY) {
    return joined(t('n_hours', { n: Math.floor(seconds / HOUR) }), rest('n_minutes', (seconds % HOUR) / MINUTE))
  }
  return joined(t('n_days', { n: Math.floor(seconds / DAY) }), rest('n_hours', (seconds % DAY) / HOUR))
}

/**
 * @param {'n_minutes' | 'n_hours'} unit
 * @param {number} amount
 */
const rest = (unit, amount) => (amount < 1 ? '' : t(unit, { n: Math.floor(amount) }))

/**
 * @param {string} first
 * @param {string} second
 */
const joined = (first, second) => (second === '' ? first : `${first} ${second}`)

/**
 * A date `YYYY-MM-DD` as a short label.
 *
 * @param {string} day
 */
export function dayLabel(day) {
  const date = new Date(`${day}T12:00:00Z`)
  const month = preferences.language === 'en' ? 'short' : 'numeric'
  return new Intl.DateTimeFormat(preferences.language, { month, day: 'numeric', timeZone: 'UTC' }).format(date)
}

/**
 * The first and the last ten characters: enough to distinguish tokens and to find them in a log.
 *
 * @param {string} token
 */
export const shortened = token => (token.length <= 26 ? token : `${token.slice(0, 10)}…${token.slice(-10)}`)

/**
 * @param {string | null} type The program.
 * @param {string | null} id The name that it gave itself.
 */
export const deviceText = (type, id) => [type, id].filter(part => part !== null && part !== '').join(' · ') || '–'
