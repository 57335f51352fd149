import type { Clock } from '../base/clock.ts'
import type { SessionRecord } from '../session/record.ts'
import type { CacheCounts, StoredToken } from './store.ts'

/** Sessions per side that a process remembers unless the settings say otherwise, about 1 KB each. */
export const REMEMBERED_AT_MOST = 100_000
/** Sessions that make room together, at most and when that is one in a hundred. */
const MAX_PUSHED_OUT = 1000

interface Entry {
  record: SessionRecord
  expiresAt: number
}

/**
 * Sessions of one side in the memory of the process, each until its own end. Absent tokens are not remembered. The owner
 * knows when a session may be returned: it evicts what has changed, in this process or another, before it reads.
 */
export class RememberedSessions {
  readonly #clock: Clock
  readonly #maxEntries: number
  readonly #entries = new Map<string, Entry>()
  #hits = 0
  #misses = 0
  #evictions = 0

  constructor(clock: Clock, maxEntries: number) {
    this.#clock = clock
    this.#maxEntries = maxEntries
  }

  get size(): number {
    return this.#entries.size
  }

  /** Hits, misses and evictions since the start. */
  get counts(): CacheCounts {
    return { entries: this.#entries.size, hits: this.#hits, misses: this.#misses, evictions: this.#evictions }
  }

  /** The record of a token, if it is remembered and has not expired. */
  get(token: string): SessionRecord | null {
    const entry = this.#entries.get(token)
    return entry !== undefined && this.#clock.now() < entry.expiresAt ? entry.record : null
  }

  /** Counts an answer as a hit or, if it is `null`, as a miss, and returns it. */
  counted(record: SessionRecord | null): SessionRecord | null {
    if (record === null) this.#misses++
    else this.#hits++
    return record
  }

  /** Remembers what the store has just answered for a token. Many requests share the record, so it is frozen. */
  set(token: string, stored: Pick<StoredToken, 'record' | 'expiresAt'> | null): void {
    if (stored === null) {
      this.#entries.delete(token)
      return
    }
    this.#entries.set(token, { record: freeze(stored.record), expiresAt: stored.expiresAt })
    if (this.#entries.size > this.#maxEntries) this.#pushOut()
  }

  /**
   * Several of the oldest at once: to find the first, a map walks over the places of those that were deleted before. A place
   * that is kept instead keeps every table alive that the map has outgrown since.
   */
  #pushOut(): void {
    let surplus = Math.min(MAX_PUSHED_OUT, Math.ceil(this.#maxEntries / 100))
    for (const token of this.#entries.keys()) {
      if (surplus-- === 0) break
      this.#entries.delete(token)
      this.#evictions++
    }
  }

  /** A token was changed. */
  evict(token: string): void {
    if (this.#entries.delete(token)) this.#evictions++
  }

  /** Any token may have changed. */
  clear(): void {
    this.#evictions += this.#entries.size
    this.#entries.clear()
  }
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) freeze(inner)
  return Object.freeze(value)
}
