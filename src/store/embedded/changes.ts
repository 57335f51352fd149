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

/** Changes as they are stored; `anything` when they are no longer all known. */
type Unread = readonly string[] | 'anything'
const NOTHING: Unread = []

const slotKey = (change: number): Buffer => Buffer.from(`slot${change % SLOTS}`)

export class EmbeddedChanges implements Changes {
  readonly #file: EmbeddedFile
  readonly #rows: Rows
  #poll: { listener: ChangeListener; unread: () => Unread } | null = null

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
    let change = Number(this.#last())
    for (const id of ids) this.#rows.putSync(slotKey(++change), `${kind}${sideKey(type, id)}`)
    this.#rows.putSync(LAST, String(change))
  }

  /** The number of the latest change, as it is stored. */
  #last(): string {
    return this.#rows.get(LAST) ?? '0'
  }

  notify(listener: ChangeListener | null): void {
    this.#poll = listener === null ? null : { listener, unread: this.#reader() }
  }

  poll(): boolean {
    if (this.#poll === null) return false
    const { listener, unread } = this.#poll
    passOn(this.#file.read(unread), listener)
    return true
  }

  /**
   * Follows the changes of all processes: the function that is answered notifies the listener of those that are committed in
   * the snapshot of the present read. `listener` must not ask the store.
   */
  follow(listener: ChangeListener): () => void {
    const unread = this.#reader()
    return () => passOn(unread(), listener)
  }

  /** Answers the changes since its last call, the first time that anything may have changed. Called within a read. */
  #reader(): () => Unread {
    let read: string | null = null
    return () => {
      const last = this.#last()
      if (last === read) return NOTHING
      const unread = this.#between(read, Number(last))
      read = last
      return unread
    }
  }

  /** The changes after one up to another. */
  #between(read: string | null, last: number): Unread {
    const first = Number(read) + 1
    // A file that was put in the place of another counts from its own beginning.
    if (read === null || last < first || last - first >= SLOTS) return 'anything'
    const changes: string[] = []
    for (let change = first; change <= last; change++) {
      const noted = this.#rows.get(slotKey(change))
      if (noted === undefined) return 'anything'
      changes.push(noted)
    }
    return changes
  }
}

function passOn(unread: Unread, listener: ChangeListener): void {
  if (unread === 'anything') {
    listener.anything()
    return
  }
  for (const change of unread) {
    const { type, id } = readSideKey(Buffer.from(change.slice(1)))
    if (change.startsWith(DISABLED)) listener.disabled(type, id)
    else listener.session(type, id)
  }
}
