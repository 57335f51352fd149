import { createTimestampFormat } from '../base/timestamp.ts'

/* The value of one field that a database or a backend answers. No fault quotes a value: it may be a hash or a key. */

/** Numbers beyond 2^53 have been rounded and could be the id of another user. */
export function textOf(name: string, value: unknown): string | null {
  const read = plain(name, value)
  if (read === null || read === undefined || typeof read === 'string') return read ?? null
  if (Number.isSafeInteger(read)) return String(read)
  throw new Error(`the field "${name}" is neither a text nor a whole number below 2^53`)
}

/** Converts binary columns to their UTF-8 text; other values are unchanged. */
export function plain(name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (!(value instanceof Uint8Array)) return value
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(value)
  } catch {
    throw new Error(`the field "${name}" is binary`)
  }
}

/** A list, a list as JSON text, an array of PostgreSQL as text, or a text with commas. */
export function listOf(name: string, value: unknown): string[] {
  const read = plain(name, value)
  const list = typeof read === 'string' ? listInText(name, read.trim()) : read
  if (!Array.isArray(list)) throw new Error(`the field "${name}" is not a list`)
  return list.filter(item => typeof item === 'string')
}

function listInText(name: string, text: string): unknown {
  if (text.startsWith('{')) return arrayInText(name, text)
  if (!text.startsWith('[')) {
    return text
      .split(',')
      .map(item => item.trim())
      .filter(item => item !== '')
  }
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`the field "${name}" begins like a JSON list but is not valid JSON`)
  }
}

const ARRAY = /^\{(?:(?:"(?:[^"\\]|\\.)*"|[^",{}\\]+)(?:,(?!\})|(?=\})))*\}$/s
const ITEM = /"((?:[^"\\]|\\.)*)"|[^",{}]+/gs

/** How PostgreSQL writes arrays of types of the operator, such as an enumeration; a bare NULL is no item. */
function arrayInText(name: string, text: string): unknown {
  if (!ARRAY.test(text)) throw new Error(`the field "${name}" begins like an array but is not a valid one`)
  return [...text.matchAll(ITEM)].map(([bare, quoted]) =>
    quoted === undefined ? (bare === 'NULL' ? null : bare) : quoted.replace(/\\(.)/gs, '$1'),
  )
}

/** As `versionOf` reads it: its name, then what is sealed. */
const SECOND_FACTOR = /^[\w-]{12}\.[\w-]{1,4083}$/

/** `null` without a second factor. Anything else than one is a fault: it must not count as none. */
export function secondFactorOf(name: string, value: unknown): string | null {
  const text = plain(name, value)
  if (text === null || text === undefined || text === '') return null
  if (typeof text === 'string' && SECOND_FACTOR.test(text)) return text
  throw new Error(`the field "${name}" is not a second factor as the gateway wrote it`)
}

const timestamps = createTimestampFormat('UTC')
/** In seconds: later ones are milliseconds by mistake. */
const LATEST = 100_000_000_000

/**
 * A time in milliseconds; `null` for none. A number is seconds since the epoch; a text is ISO 8601 or the form of a database,
 * in UTC without an offset.
 */
export function timeOf(name: string, value: unknown): number | null {
  const read = plain(name, value)
  if (read === null || read === undefined || read === '') return null
  if (read instanceof Date && !Number.isNaN(read.getTime())) return read.getTime()
  const isNumber = typeof read === 'number' || (typeof read === 'string' && /^\d+(\.\d+)?$/.test(read))
  const seconds = isNumber ? Number(read) : Number.NaN
  if (seconds >= 0 && seconds < LATEST) return Math.floor(seconds * 1000)
  // PostgreSQL writes an offset of whole hours as +08.
  const time = typeof read === 'string' ? timestamps.read(read.replace(/([+-]\d\d)$/, '$1:00')) : null
  if (time !== null) return time
  throw new Error(`the field "${name}" is not a time: seconds since 1970, or a text such as 2026-01-31T08:00:00Z`)
}

const SWITCHES = new Map<unknown, boolean>([
  ...([true, 1, '1', 't', 'true', '\u0001'] as const).map(word => [word, true] as const),
  ...([false, 0, '0', 'f', 'false', '\u0000', '', null, undefined] as const).map(word => [word, false] as const),
])

/** A boolean in the forms that databases have: also 0 and 1, and one bit. */
export function switchOf(name: string, value: unknown): boolean {
  const read = plain(name, value)
  const known = SWITCHES.get(typeof read === 'string' ? read.toLowerCase() : read)
  if (known === undefined) throw new Error(`the field "${name}" is neither true nor false`)
  return known
}
