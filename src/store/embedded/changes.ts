import type { LoginType } from '../../session.ts'
import type { ChangeListener, Changes } from '../changes.ts'
import type { EmbeddedFile, Rows } from './file/file.ts'
import { readSideKey, sideKey } from './file/members.ts'

/*
 * What became of sessions, for every process that has the file open: a ring of the latest changes, each written in its
 * own transaction. One table:
 *   last -> the number of the latest change
 *   slot -> kind, side key
 * Sessions that reach their end are not noted: their end is known before.
 */

/** Changes that are kept. A listener that missed more of them is notified that anything may have changed. */
const SLOTS = 1024
const LAST = Buffer.from('last')
const SESSION = 's'
/** Stands in files of earlier versions, too. */
const DISABLED = 'b'

const slotKey = (change: number): Buffer => Buffer.from(`slot${change % SLOTS}`)

export class EmbeddedChanges implements Changes {
  readonly #file: EmbeddedFile
  readonly #rows: Rows
  #listener: ChangeListener | null = null
  /** The latest change that was passed on; `null` before the first poll. */
  #notified: number | null = null

  constructor(file: EmbeddedFile) {
    this.#file = file
    this.#rows = file.table('changes')
  }

  /** Sessions were stored, renewed or ended. Within a write. */
  noteSessions(type: LoginType, tokens: readonly string[]): void {
    this.#note(SESSION, type, tokens)
  }

  /** A login id was disabled or untied. Within a write. */
  noteDisabled(type: LoginType, userId: string): void {
    this.#note(DISABLED, type, [userId])
  }

  #note(kind: typeof SESSION | typeof DISABLED, type: LoginType, ids: readonly string[]): void {
    if (ids.length === 0) return
    let change = this.#last()
    for (const id of ids) this.#rows.putSync(slotKey(++change), `${kind}${sideKey(type, id)}`)
    this.#rows.putSync(LAST, String(change))
  }

  #last(): number {
    return Number(this.#rows.get(LAST) ?? 0)
  }

  notify(listener: ChangeListener | null): void {
    this.#listener = listener
    this.#notified = null
  }

  poll(): boolean {
    const listener = this.#listener
    if (listener === null) return false
    const { last, changes } = this.#file.read(() => this.#since(this.#notified))
    this.#notified = last
    if (changes === null) listener.anything()
    else for (const change of changes) passOn(change, listener)
    return true
  }

  /** The changes after one; `null` when they are no longer all known. */
  #since(notified: number | null): { last: number; changes: string[] | null } {
    const last = this.#last()
    // A file that was put in the place of another counts from its own beginning.
    if (notified === null || last < notified || last - notified > SLOTS) return { last, changes: null }
    const changes: string[] = []
    for (let change = notified + 1; change <= last; change++) changes.push(this.#rows.get(slotKey(change)) ?? '')
    return { last, changes }
  }
}

function passOn(change: string, listener: ChangeListener): void {
  const { type, id } = readSideKey(Buffer.from(change.slice(1)))
  if (change.startsWith(DISABLED)) listener.disabled(type, id)
  else listener.session(type, id)
}
