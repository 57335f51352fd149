import { preferences } from '../preferences.js'

/** The time of the browser's clock. */
export const now = () => new Intl.DateTimeFormat(preferences.language, { timeStyle: 'medium' }).format(new Date())

/**
 * The time so many seconds from now; with its day, unless that is today.
 *
 * @param {number} seconds
 */
export function timeIn(seconds) {
  const [today, time] = [new Date(), new Date(Date.now() + seconds * 1000)]
  const isToday = today.toDateString() === time.toDateString()
  return new Intl.DateTimeFormat(preferences.language, {
    timeStyle: 'medium',
    ...(!isToday && { dateStyle: 'medium' }),
  }).format(time)
}

/**
 * A time in a time zone, as fields for a time take it. Empty for a timestamp that is not a number.
 *
 * @param {number} timestamp
 * @param {string} timeZone
 */
export function timeAt(timestamp, timeZone) {
  if (Number.isNaN(timestamp)) return ''
  // The Swedish locale writes `YYYY-MM-DD HH:MM:SS`.
  const text = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(timestamp)
  return text.replace(' ', 'T')
}
