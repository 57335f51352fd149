import { type LoginType, SIDES } from '../../../session/sides.ts'
import type { EmbeddedFile, Rows } from '../file/lmdb-file.ts'
import { addSizes, readSizes, type Sizes, sameSizes, usersIn, writeSizes } from './sizes.ts'

/*
 * Who is online, in the order in which people are listed, counted so that any place in it is found at once.
 * One table: side, level, place -> text. A place is the second of the login, latest first, and the user id.
 *   level 0     a row for each user                           -> the number of the user's tokens
 *   level 1..3  a row for each span of 16, 4096, 2^20 seconds -> the sizes of the users whose login lies in it
 *   level 4     one row                                       -> the sizes of all users
 * So a change rewrites one row of each level. A place is found by reading up to 256 rows of each, and passing over the
 * users of the same 16 seconds: some 25 ns for each of them.
 */

const SPANS = [2 ** 0, 2 ** 4, 2 ** 12, 2 ** 20, 2 ** 40] as const
type Level = 0 | 1 | 2 | 3 | 4
/** The levels on which is counted, from the lowest on. */
export const LEVELS = [1, 2, 3, 4] as const
const TOP = 4
const BELOW = { 1: 0, 2: 1, 3: 2, 4: 3 } as const

/** A second is stored as what is left from it to the end of time, so that the latest comes first. */
const SECOND_BYTES = 5
const END_OF_TIME = 2 ** (8 * SECOND_BYTES) - 1
const HEAD_BYTES = 2
const ID_AT = HEAD_BYTES + SECOND_BYTES

/** Where a user is listed: by the second of the newest login, and the id. */
export interface Place {
  userId: string
  created: number
}

/** What a user counts as. */
export interface Position {
  created: number
  tokens: number
}

/** Part of the order, with or without users; `start` is its first second, as it is stored. */
export interface Span {
  type: LoginType
  level: (typeof LEVELS)[number]
  start: number
}

export class OnlineOrder {
  /** Before the first place. */
  readonly start: Place = { userId: '', created: END_OF_TIME }
  readonly #rows: Rows

  constructor(file: EmbeddedFile) {
    this.#rows = file.table('online')
  }

  /** The number of tokens of the user at a place; 0 if no user is there. */
  tokensAt(type: LoginType, place: Place): number {
    return Number(this.#rows.get(placeKey(type, place)) ?? 0)
  }

  /** Lists a user as `to`, who was listed as `from`; `null` is not online. Within a write. */
  move(type: LoginType, userId: string, from: Position | null, to: Position | null): void {
    if (from !== null && from.created !== to?.created) {
      this.#rows.removeSync(placeKey(type, { userId, created: from.created }))
    }
    if (to !== null) this.#rows.putSync(placeKey(type, { userId, created: to.created }), String(to.tokens))
    for (const level of LEVELS) {
      const change = new Map<number, Map<number, number>>()
      if (from !== null) change.set(startOf(level, from), new Map([[from.tokens, -1]]))
      if (to !== null) {
        const start = startOf(level, to)
        change.set(start, addChange(change.get(start), to.tokens))
      }
      for (const [start, sizes] of change) this.#add({ type, level, start }, sizes)
    }
  }

  /** The sizes of all users of a side. */
  sizes(type: LoginType): Sizes {
    return this.#read({ type, level: TOP, start: 0 })
  }

  /** The user ids of so many places from the given one on; the first is 0. */
  slice(type: LoginType, offset: number, limit: number): string[] {
    if (offset >= usersIn(this.sizes(type))) return []
    let left = offset
    let start = 0
    for (const level of [3, 2, 1] as const) {
      for (const { key, value } of this.#rows.getRange(rangeFrom(type, level, start))) {
        start = startIn(key)
        const users = usersIn(readSizes(value))
        if (users > left) break
        left -= users
      }
    }
    const keys = this.#rows.getKeys({ ...rangeFrom(type, 0, start), offset: left, limit })
    return Array.from(keys, key => placeIn(key).userId)
  }

  /** The places after one, in their order. */
  placesAfter(type: LoginType, place: Place, limit: number): Place[] {
    const { end } = rangeFrom(type, 0, 0)
    return Array.from(this.#rows.getKeys({ start: placeKey(type, place), end, exclusiveStart: true, limit }), placeIn)
  }

  /**
   * Whether a span counts what there is of it on the level below, which has to be right; how many users that are, and
   * the next span in which there is anything.
   */
  check(span: Span): { right: boolean; users: number; next: Span | null } {
    const counted = this.#countBelow(span)
    return { right: sameSizes(this.#read(span), counted), users: usersIn(counted), next: this.#next(span) }
  }

  /** Counts a span anew from the level below. Within a write. */
  recount(span: Span): void {
    this.#write(span, this.#countBelow(span))
  }

  #countBelow({ type, level, start }: Span): Sizes {
    const below = BELOW[level]
    const end = rowKey(type, below, start + SPANS[level])
    const counted = new Map<number, number>()
    for (const { value } of this.#rows.getRange({ start: rowKey(type, below, start), end })) {
      addSizes(counted, below === 0 ? new Map([[Number(value), 1]]) : readSizes(value))
    }
    return counted
  }

  #next({ type, level, start }: Span): Span | null {
    if (level === TOP) return null
    const starts = [BELOW[level], level].flatMap(rows => {
      const [key] = this.#rows.getKeys({ ...rangeFrom(type, rows, start + SPANS[level]), limit: 1 })
      return key === undefined ? [] : [startIn(key)]
    })
    return starts.length === 0 ? null : { type, level, start: roundDown(level, Math.min(...starts)) }
  }

  #add(span: Span, change: Sizes): void {
    if (change.size > 0) this.#write(span, addSizes(this.#read(span), change))
  }

  #read({ type, level, start }: Span): Map<number, number> {
    return readSizes(this.#rows.get(rowKey(type, level, start)) ?? '')
  }

  #write({ type, level, start }: Span, sizes: Sizes): void {
    const key = rowKey(type, level, start)
    if (sizes.size === 0) this.#rows.removeSync(key)
    else this.#rows.putSync(key, writeSizes(sizes))
  }
}

/** One user more of a number of tokens, in a change that may take one away. */
function addChange(change: Map<number, number> | undefined, tokens: number): Map<number, number> {
  if (change === undefined) return new Map([[tokens, 1]])
  // A user who leaves and one who comes with as many tokens are no change.
  if (!change.delete(tokens)) change.set(tokens, 1)
  return change
}

const roundDown = (level: Level, stored: number): number => stored - (stored % SPANS[level])

const startOf = (level: Level, { created }: Position): number => roundDown(level, END_OF_TIME - created)

/** On the end of time follows the level above, so that it can be the end of a range. */
function rowKey(type: LoginType, level: Level, stored: number): Buffer {
  const key = Buffer.alloc(ID_AT)
  key.write(SIDES[type].letter, 'latin1')
  key[1] = stored > END_OF_TIME ? level + 1 : level
  key.writeUIntBE(stored > END_OF_TIME ? 0 : stored, HEAD_BYTES, SECOND_BYTES)
  return key
}

const placeKey = (type: LoginType, { userId, created }: Place): Buffer =>
  Buffer.concat([rowKey(type, 0, END_OF_TIME - created), Buffer.from(userId, 'latin1')])

const rangeFrom = (type: LoginType, level: Level, stored: number): { start: Buffer; end: Buffer } => ({
  start: rowKey(type, level, stored),
  end: rowKey(type, level, END_OF_TIME + 1),
})

const startIn = (key: Buffer): number => key.readUIntBE(HEAD_BYTES, SECOND_BYTES)

const placeIn = (key: Buffer): Place => ({
  userId: key.toString('latin1', ID_AT),
  created: END_OF_TIME - startIn(key),
})
