import type { Ages } from '../../age.ts'
import { tokenDigest } from '../../digest.ts'
import { namesOf } from '../../names.ts'
import type { StoredToken } from '../../store.ts'
import { CREATED_LENGTH, DIGEST_LENGTH } from './user-lines.ts'

/** What the online keys hold of one token. */
export interface Entry {
  digest: string
  /** The creation as digits, which sort as `created_at` does. */
  created: string
  /** `YYYY-MM-DD` of the creation; empty when the record names none. */
  day: string
  /** Folded, in one text. */
  names: string
  /** When the token ends. */
  endsAt: number
}

/** Ends of tokens that have no end: more than any timestamp, and still exact as a number. */
export const NEVER = 9e15
const DAY = 'YYYY-MM-DD'.length
/** Stands between names; those of a record hold no control characters. */
const BETWEEN_NAMES = '\t'
const CONTROL = /[\u0000-\u001f]/g

/** The short name of a token in the online keys: 72 bits, so that of a million tokens no two are confused. */
export const digestOf = (token: string): string => tokenDigest(token).slice(0, DIGEST_LENGTH)

/** A text without the characters that separate the parts of these keys; nothing that has them is found. */
export const withoutControl = (text: string): string => text.replace(CONTROL, '\ufffd')

export function entryOf(stored: StoredToken, ages: Ages): Entry {
  const { token, record, expiresAt } = stored
  const createdAt = ages.createdAt(stored)
  return {
    digest: digestOf(token),
    created: createdAt.replace(/\D/g, '').padEnd(CREATED_LENGTH, '0'),
    day: createdAt.slice(0, DAY),
    names: namesOf(record.extra).map(withoutControl).join(BETWEEN_NAMES),
    endsAt: Number.isFinite(expiresAt) ? Math.ceil(expiresAt) : NEVER,
  }
}

/** The digests in a user's lines. */
export const digestsIn = (lines: string): string[] =>
  lines
    .split('\n')
    .filter(line => line !== '')
    .map(line => line.slice(0, DIGEST_LENGTH))

/** The creation and the names of a user's newest token, from the user's lines. */
export function newestIn(lines: string): { created: string; names: string[] } {
  const end = lines.indexOf('\n')
  const head = DIGEST_LENGTH + CREATED_LENGTH
  return { created: lines.slice(DIGEST_LENGTH, head), names: lines.slice(head, end).split(BETWEEN_NAMES) }
}
