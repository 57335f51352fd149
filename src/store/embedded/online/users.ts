import { type Clock, DAY } from '../../../base/clock.ts'
import type { LoginType } from '../../../session/sides.ts'
import { readSideKey, sideKey } from '../file/members.ts'
import type { Expiries, ExpiringTable } from '../file/table.ts'
import type { Position } from './order.ts'

/** What is kept of a user: the number of tokens, the newest login, and the names, in a block of the index if there are any. */
export interface Person extends Position {
  names: readonly string[]
  block: number
}

/**
 * A week, in milliseconds: for so long the names of a user stay in the index after the last session, so that being kicked
 * out, and coming back, write nothing there.
 */
const NAMES_KEPT = 7 * DAY

/** One table: side, user id -> the person; with 0 tokens when the user is offline, and then it ends. */
export class People {
  readonly #rows: ExpiringTable
  readonly #clock: Clock

  /** `onForgotten` is called, within a write, with each user whose entry is removed. */
  constructor(
    expiries: Expiries,
    clock: Clock,
    onForgotten: (type: LoginType, userId: string, person: Person) => void,
  ) {
    this.#clock = clock
    this.#rows = expiries.table('people', 'p', (key, text) => {
      const { type, id } = readSideKey(key)
      onForgotten(type, id, readPerson(text))
    })
  }

  /** Also one who is offline, as long as the names are in the index. */
  get(type: LoginType, userId: string): Person | null {
    const row = this.#rows.peek(sideKey(type, userId))
    return row === null ? null : readPerson(row.text)
  }

  /** Within a write. */
  put(type: LoginType, userId: string, person: Person): void {
    const key = sideKey(type, userId)
    if (person.tokens > 0) this.#rows.put(key, writePerson(person), Number.POSITIVE_INFINITY)
    else if (person.names.length > 0) this.#rows.put(key, writePerson(person), this.#clock.now() + NAMES_KEPT)
    else this.#rows.remove(key)
  }

  /** A user's names stand in another block. Within a write. */
  moveTo(type: LoginType, userId: string, block: number): void {
    const key = sideKey(type, userId)
    const row = this.#rows.peek(key)
    if (row !== null) this.#rows.put(key, writePerson({ ...readPerson(row.text), block }), row.expiresAt)
  }

  /** The user ids after one that are kept, in the order of their bytes. */
  after(type: LoginType, userId: string, limit: number): string[] {
    const first = type.charCodeAt(0)
    const keys = this.#rows.keysAfter(sideKey(type, userId), limit).filter(key => key[0] === first)
    return keys.map(key => key.toString('latin1', 1))
  }
}

const writePerson = ({ tokens, created, names, block }: Person): string =>
  names.length === 0 ? `${tokens} ${created}` : `${tokens} ${created} ${block} ${JSON.stringify(names)}`

const WRITTEN = /^(\d+) (\d+)(?: (\d+) (.*))?$/s

function readPerson(text: string): Person {
  const [, tokens, created, block = 0, names = '[]'] = WRITTEN.exec(text) ?? []
  return { tokens: Number(tokens), created: Number(created), block: Number(block), names: JSON.parse(names) }
}
