import { DAY } from './clock.ts'

/**
 * `created_at` and every other time for people: `YYYY-MM-DD HH:MM:SS` in the configured time zone ("Session token
 * record"). Records of other programs may hold an ISO 8601 form, which is read too.
 */
export interface TimestampFormat {
  /** Milliseconds since the epoch as text. */
  write(timestamp: number): string
  /**
   * Text as milliseconds since the epoch; `null` when it is not a time. A text without an offset is in the configured zone. It is
   * the first of the two times that a clock shows so, which is set back by an hour in between.
   */
  read(text: string): number | null
  /** As `read`, but the last of the two times. */
  readLast(text: string): number | null
  /** A text of any form that is read, as `write` writes it. `null` when it is not a time. */
  normalize(text: string): string | null
  /** `YYYY-MM-DD` of a timestamp. */
  day(timestamp: number): string
}

const OWN_FORM = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/
const FORM = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?$/

export function createTimestampFormat(timeZone: string): TimestampFormat {
  let format: Intl.DateTimeFormat | undefined
  const write = (timestamp: number): string => {
    // Made at the first use: it takes milliseconds, which a start can save.
    format ??= swedish(timeZone)
    return format.format(timestamp)
  }

  /** The zone's offset from UTC at a timestamp, in milliseconds; `NaN` where its year has not four digits. */
  const offsetAt = (timestamp: number): number => {
    const wholeSecond = Math.floor(timestamp / 1000) * 1000
    return Date.parse(`${write(wholeSecond).replace(' ', 'T')}Z`) - wholeSecond
  }

  /** Every time that a text may mean, the first one first. */
  function readingsOf(text: string): number[] {
    const parts = FORM.exec(text)
    if (parts === null) return []
    const [, year, month, day, hour, minute, second, , zone] = parts
    const wall = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone ?? 'Z'}`)
    if (Number.isNaN(wall) || zone !== undefined) return [wall].filter(Number.isFinite)
    // The offsets on both sides of a change of clocks.
    const times = [wall - offsetAt(wall - DAY), wall - offsetAt(wall + DAY)].filter(Number.isFinite)
    const readings = times.filter(time => time + offsetAt(time) === wall)
    // A clock that is set forward shows none of the times between: then as if it had not been.
    return readings.length > 0 ? readings : times.slice(0, 1)
  }

  const read = (text: string): number | null => readingsOf(text)[0] ?? null

  return {
    write,
    day: timestamp => write(timestamp).slice(0, 'YYYY-MM-DD'.length),
    read,
    readLast: text => readingsOf(text).at(-1) ?? null,
    normalize(text) {
      // Most records are ours, and a session list reads many of them.
      if (OWN_FORM.test(text)) return text
      const timestamp = read(text)
      return timestamp === null ? null : write(timestamp)
    },
  }
}

/** The Swedish locale writes `YYYY-MM-DD HH:MM:SS`. */
const swedish = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  })
