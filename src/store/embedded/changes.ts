import type { LoginType } from '../../session/sides.ts'
import type { ChangeListener, Changes } from '../changes.ts'
import type { EmbeddedFile, Rows } from './file/lmdb-file.ts'
import { readSideKey, sideKey } from './file/members.ts'

/*
 * What became of sessions or credentials, for every process that has their file open: a ring of the latest changes, each written
 * in its own transaction. One table:
 *   last -> the number of the latest change
 *   slot -> kind, side key
 * What reaches its end is not noted: its end is known before.
 */

/** Changes that are kept. A listener that missed more of them is notified that anything may have changed. */
const SLOTS = 1024
const LAST = Buffer.from('last')
const NONE = '0'

/** What was changed, and the methods of a listener that are notified of it. */
const KINDS = {
  s: 'session',
  /** Stands in files of earlier versions, too. */
  b: 'disabled',
  k: 'credential',
} as const satisfies Record<string, keyof ChangeListener>

type Kind = keyof typeof KINDS

/** Changes as they are stored; `anything` when they are no longer all known. */
type Unread = readonly string[] | 'anything'

/** The changes of all processes, as one listener knows them. */
export interface FollowedChanges {
  /** Whether the listener knows all changes that are committed. Outside of a read: it is for what happens very often. */
  isCurrent(): boolean
  /** Notifies the listener of the changes that are committed in the snapshot of the present read. */
  passOn(): void
  /** The same outside of a read. */
  catchUp(): void
}

const slotKey = (change: number): Buffer => Buffer.from(`slot${change % SLOTS}`)

/** The changes of one file. */
export class ChangeRing {
  readonly #file: EmbeddedFile
  readonly #rows: Rows

  constructor(file: EmbeddedFile) {
    this.#file = file
    this.#rows = file.table('changes')
  }

  /** Sessions were stored, renewed or ended. Within a write. */
  noteSessions(type: LoginType, tokens: readonly string[]): void {
    this.#note('s', type, tokens)
  }

  /** A login id was disabled or untied. Within a write. */
  noteDisabled(type: LoginType, userId: string): void {
    this.#note('b', type, [userId])
  }

  /** Credentials were stored, rewritten or ended. Within a write. */
  noteCredentials(type: LoginType, ids: readonly string[]): void {
    this.#note('k', type, ids)
  }

  #note(kind: Kind, type: LoginType, ids: readonly string[]): void {
    if (ids.length === 0) return
    let change = Number(this.#last())
    for (const id of ids) this.#rows.putSync(slotKey(++change), `${kind}${sideKey(type, id)}`)
    this.#rows.putSync(LAST, String(change))
  }

  /** The number of the latest change, as it is stored. Within a read or a write. */
  #last(): string {
    return this.#rows.get(LAST) ?? NONE
  }

  /** Follows the changes of all processes. The first time anything may have changed. `listener` must not ask the store. */
  follow(listener: ChangeListener): FollowedChanges {
    let read: string | null = null
    const isCurrent = (): boolean => this.#file.read(() => this.#last()) === read
    const next = (): void => {
      const last = this.#last()
      if (last === read) return
      const unread = this.#between(read, Number(last))
      read = last
      passOn(unread, listener)
    }
    return {
      isCurrent,
      passOn: next,
      catchUp: () => {
        if (!isCurrent()) this.#file.read(next)
      },
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
    listener[KINDS[change[0] as Kind]](type, id)
  }
}

/** The changes of a store, which are in the rings of its files. */
export class EmbeddedChanges implements Changes {
  readonly #rings: readonly ChangeRing[]
  #polled: readonly FollowedChanges[] | null = null

  constructor(rings: readonly ChangeRing[]) {
    this.#rings = rings
  }

  notify(listener: ChangeListener | null): void {
    this.#polled = listener === null ? null : this.#rings.map(ring => ring.follow(listener))
  }

  poll(): boolean {
    if (this.#polled === null) return false
    for (const followed of this.#polled) followed.catchUp()
    return true
  }
}
