import type { LoginType } from '../../session.ts'
import type { ChangeHearer, Changes } from '../changes.ts'
import type { EmbeddedFile, Rows } from './file.ts'
import { readSideKey, sideKey } from './members.ts'

/*
 * What became of sessions, for every process that has the file open: a ring of the latest changes, each written in its
 * own transaction. One table:
 *   last -> the number of the latest change
 *   slot -> kind, side key
 * Nothing is told of sessions that reach their end: whoever watches them knows when that is.
 */

/** Changes that are kept. Whoever looks after more of them looks at everything. */
const SLOTS = 1024
const LAST = Buffer.from('last')

const slotKey = (change: number): Buffer => Buffer.from(`slot${change % SLOTS}`)

export class EmbeddedChanges implements Changes {
  readonly #file: EmbeddedFile
  readonly #rows: Rows
  #hearer: ChangeHearer | null = null
  /** The latest change that was told; `null` before the first look. */
  #told: number | null = null

  constructor(file: EmbeddedFile) {
    this.#file = file
    this.#rows = file.table('changes')
  }

  /** Sessions were renewed or ended. Within a write. */
  noteSessions(type: LoginType, tokens: readonly string[]): void {
    this.#note('s', type, tokens)
  }

  /** A login id was disabled or untied. Within a write. */
  noteBar(type: LoginType, userId: string): void {
    this.#note('b', type, [userId])
  }

  #note(kind: 's' | 'b', type: LoginType, ids: readonly string[]): void {
    if (ids.length === 0) return
    let change = this.#last()
    for (const id of ids) this.#rows.putSync(slotKey(++change), `${kind}${sideKey(type, id)}`)
    this.#rows.putSync(LAST, String(change))
  }

  #last(): number {
    return Number(this.#rows.get(LAST) ?? 0)
  }

  tell(hearer: ChangeHearer | null): void {
    this.#hearer = hearer
    this.#told = null
  }

  look(): boolean {
    const hearer = this.#hearer
    if (hearer === null) return false
    const { last, changes } = this.#file.read(() => this.#since(this.#told))
    this.#told = last
    if (changes === null) hearer.anything()
    else for (const change of changes) tellOf(change, hearer)
    return true
  }

  #since(told: number | null): { last: number; changes: string[] | null } {
    const last = this.#last()
    // A file that was put in the place of another counts from its own beginning.
    if (told === null || last < told || last - told > SLOTS) return { last, changes: null }
    const changes: string[] = []
    for (let change = told + 1; change <= last; change++) changes.push(this.#rows.get(slotKey(change)) ?? '')
    return { last, changes }
  }
}

function tellOf(change: string, hearer: ChangeHearer): void {
  const { type, id } = readSideKey(Buffer.from(change.slice(1)))
  if (change.startsWith('b')) hearer.bar(type, id)
  else hearer.session(type, id)
}
