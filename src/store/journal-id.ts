import { randomBytes } from 'node:crypto'

/* The ids of the journal's entries, which sort by time. */

/** Of 64 digits whose order is that of their bytes. */
const DIGITS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'
/** An id: eight digits of the time in milliseconds, three that number the entries of a millisecond, six random ones. */
const TIME_DIGITS = 8
const NUMBER_DIGITS = 3
const RANDOM_DIGITS = 6
export const ENTRY_ID_LENGTH = TIME_DIGITS + NUMBER_DIGITS + RANDOM_DIGITS
export const ENTRY_ID_PATTERN = '^[-0-9A-Z_a-z]{17}$'

function digitsOf(value: number, length: number): string {
  let digits = ''
  for (let rest = value; digits.length < length; rest = Math.floor(rest / DIGITS.length)) {
    digits = DIGITS[rest % DIGITS.length]! + digits
  }
  return digits
}

/** Beyond every time of an entry. */
export const END_OF_TIME = DIGITS.length ** TIME_DIGITS - 1

/** What the ids of entries of a millisecond begin with: earlier ids are smaller, those of the millisecond are not. */
export const idsFrom = (timestamp: number): string =>
  digitsOf(Math.min(Math.max(Math.floor(timestamp), 0), END_OF_TIME), TIME_DIGITS)

/** When an entry was made, by its id, in milliseconds. */
export const timeOf = (id: string): number =>
  Array.from(id.slice(0, TIME_DIGITS)).reduce((sum, digit) => sum * DIGITS.length + DIGITS.indexOf(digit), 0)

/** Makes ids that sort by time. Those of one process sort as they were made, also within a millisecond. */
export function createEntryId(): (timestamp: number) => string {
  let last = 0
  let number = 0
  return timestamp => {
    number = timestamp === last ? (number + 1) % DIGITS.length ** NUMBER_DIGITS : 0
    last = timestamp
    const random = Array.from(randomBytes(RANDOM_DIGITS), byte => DIGITS[byte % DIGITS.length]).join('')
    return idsFrom(timestamp) + digitsOf(number, NUMBER_DIGITS) + random
  }
}
