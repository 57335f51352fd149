import type { Clock } from '../../../base/clock.ts'
import type { EmbeddedFile, Rows } from './lmdb-file.ts'
import { MAX_KEY_BYTES } from './lmdb-file.ts'

/** A text and the timestamp of its end: the form of everything in the embedded store that ends by itself. */
export interface Entry {
  text: string
  expiresAt: number
}

/** Called in the sweep's transaction with an entry that has just been removed, to remove what hangs on it. */
export type OnExpiry = (key: Buffer, text: string) => void

/** Index keys begin with a byte for the table and the timestamp in six bytes, most significant first. */
const TIMESTAMP_BYTES = 6
const INDEX_PREFIX_BYTES = 1 + TIMESTAMP_BYTES
const LAST_TIMESTAMP = 2 ** (8 * TIMESTAMP_BYTES) - 1

/** Longest key of an entry in bytes: with the index's prefix it still has to fit. */
export const MAX_ENTRY_KEY_BYTES = MAX_KEY_BYTES - INDEX_PREFIX_BYTES

/** Entries per transaction of a sweep: some milliseconds in which logins wait. */
const SWEEP_BATCH = 100

/** The tables of a file whose entries expire, and the one index of them all. */
export class Expiries {
  readonly #file: EmbeddedFile
  readonly #index: Rows
  readonly #clock: Clock
  readonly #tables: ExpiringTable[] = []

  constructor(file: EmbeddedFile, clock: Clock) {
    this.#file = file
    this.#index = file.table('expiries')
    this.#clock = clock
  }

  /** Opens a table whose entries expire. `mark` is its byte in the index and, like the name, part of the file's format. */
  table(name: string, mark: string, onExpiry?: OnExpiry): ExpiringTable {
    const table = new ExpiringTable(this.#file.table(name), this.#index, mark, this.#clock, onExpiry)
    this.#tables.push(table)
    return table
  }

  /** Removes what has expired, in small transactions, and answers how many entries. */
  async sweep(): Promise<number> {
    let removed = 0
    while (this.#file.read(() => this.#tables.some(table => table.anyDue()))) {
      removed += await this.#file.write(() => this.#removeDue(SWEEP_BATCH))
    }
    return removed
  }

  #removeDue(limit: number): number {
    return this.#tables.reduce((removed, table) => removed + table.removeDue(limit - removed), 0)
  }
}

/**
 * Entries of one kind. Reading is for readers and writers, changing only within a write. An entry is absent as
 * soon as it expires, because every reader compares; the index in the order of expiry serves to give its space back.
 */
export class ExpiringTable {
  readonly #rows: Rows
  readonly #index: Rows
  readonly #mark: number
  readonly #clock: Clock
  readonly #onExpiry: OnExpiry | undefined

  constructor(rows: Rows, index: Rows, mark: string, clock: Clock, onExpiry?: OnExpiry) {
    this.#rows = rows
    this.#index = index
    this.#mark = mark.charCodeAt(0)
    this.#clock = clock
    this.#onExpiry = onExpiry
  }

  /** The live entry; `null` if it is absent or the key is too long to be stored. */
  get(key: Buffer): Entry | null {
    return this.#whileLive(this.#stored(key))
  }

  /** The entry, expired or not, as long as no sweep has met it. */
  peek(key: Buffer): Entry | null {
    return this.#stored(key)
  }

  put(key: Buffer, text: string, expiresAt: number): void {
    const stored = this.#stored(key)
    this.#rows.putSync(key, `${expiresAt} ${text}`)
    if (stored?.expiresAt === expiresAt) return
    if (stored !== null) this.#index.removeSync(this.#indexKey(stored.expiresAt, key))
    if (expiresAt !== Number.POSITIVE_INFINITY) this.#index.putSync(this.#indexKey(expiresAt, key), '')
  }

  /** Removes an entry, expired or not, and answers it if it was live. */
  remove(key: Buffer): Entry | null {
    return this.#whileLive(this.take(key))
  }

  /** Removes an entry and answers it, expired or not. */
  take(key: Buffer): Entry | null {
    const entry = this.#stored(key)
    if (entry === null) return null
    this.#rows.removeSync(key)
    this.#index.removeSync(this.#indexKey(entry.expiresAt, key))
    return entry
  }

  /** The keys of all entries after a key, expired ones that no sweep has met yet included. */
  keysAfter(key: Buffer, limit: number): Buffer[] {
    return Array.from(this.#rows.getKeys({ start: key, exclusiveStart: true, limit }))
  }

  /** The keys of some entries that have not ended, those that end next first; without those that have no end. */
  nextToEnd(offset: number, limit: number): Buffer[] {
    const keys = this.#index.getKeys({ ...this.#ending(), offset, limit })
    return Array.from(keys, key => key.subarray(INDEX_PREFIX_BYTES))
  }

  /** How many entries have an end that lies ahead. */
  countEnding(): number {
    return this.#index.getKeysCount(this.#ending())
  }

  /** What lies ahead in the index. */
  #ending(): { start: Buffer; end: Buffer } {
    return { start: this.#indexKey(Math.floor(this.#clock.now()) + 1), end: Buffer.from([this.#mark + 1]) }
  }

  /** Whether any entry has expired and is still there. Cheap, for a reader. */
  anyDue(): boolean {
    return this.#due(1).length > 0
  }

  /** Removes up to `limit` expired entries, oldest first, and answers how many. Within a write. */
  removeDue(limit: number): number {
    const due = this.#due(limit)
    for (const indexKey of due) {
      const key = indexKey.subarray(INDEX_PREFIX_BYTES)
      const entry = this.#stored(key)
      this.#index.removeSync(indexKey)
      if (entry === null || this.#whileLive(entry) !== null) continue
      this.#rows.removeSync(key)
      this.#onExpiry?.(key, entry.text)
    }
    return due.length
  }

  #due(limit: number): Buffer[] {
    if (limit <= 0) return []
    const now = Math.floor(this.#clock.now())
    return [...this.#index.getKeys({ start: this.#indexKey(0), end: this.#indexKey(now + 1), limit })]
  }

  #whileLive(entry: Entry | null): Entry | null {
    return entry !== null && entry.expiresAt > this.#clock.now() ? entry : null
  }

  #stored(key: Buffer): Entry | null {
    if (key.length > MAX_ENTRY_KEY_BYTES) return null
    const row = this.#rows.get(key)
    if (row === undefined) return null
    const space = row.indexOf(' ')
    return { expiresAt: Number(row.slice(0, space)), text: row.slice(space + 1) }
  }

  #indexKey(expiresAt: number, key?: Buffer): Buffer {
    const indexKey = Buffer.alloc(INDEX_PREFIX_BYTES + (key?.length ?? 0))
    indexKey[0] = this.#mark
    indexKey.writeUIntBE(Math.min(Math.max(Math.ceil(expiresAt), 0), LAST_TIMESTAMP), 1, TIMESTAMP_BYTES)
    key?.copy(indexKey, INDEX_PREFIX_BYTES)
    return indexKey
  }
}
