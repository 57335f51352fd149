import type { CacheCounts } from './store.ts'

/** Sessions per side that a process remembers unless the settings say otherwise, about 1 KB each. */
export const REMEMBERED_AT_MOST = 100_000
/** Values that make room together, at most and when that is one in a hundred. */
const MAX_PUSHED_OUT = 1000

/** A value of a store, and until when it may be remembered. */
export interface Kept<V> {
  readonly value: V
  readonly expiresAt: number
}

/** Until when a login id is disabled; `null` if it is not. */
export interface Disable {
  readonly userId: string
  readonly until: number | null
}

/**
 * What a store holds of one side under names, in the memory of the process, each value until its own end. Absence is not
 * remembered. The owner knows when a value may be returned: it evicts what has changed, in this process or another, before it reads.
 */
export class Remembered<V> {
  readonly #now: () => number
  readonly #maxEntries: number
  readonly #entries = new Map<string, Kept<V>>()
  #hits = 0
  #misses = 0
  #evictions = 0

  /** `now`: the time by which the values end. */
  constructor(now: () => number, maxEntries: number) {
    this.#now = now
    this.#maxEntries = maxEntries
  }

  get size(): number {
    return this.#entries.size
  }

  /** Hits, misses and evictions since the start. */
  get counts(): CacheCounts {
    return { entries: this.#entries.size, hits: this.#hits, misses: this.#misses, evictions: this.#evictions }
  }

  /** The value of a name, if it is remembered and has not expired. */
  get(name: string): V | null {
    const entry = this.#entries.get(name)
    return entry !== undefined && this.#now() < entry.expiresAt ? entry.value : null
  }

  /** Counts an answer as a hit or, if it is `null`, as a miss, and returns it. */
  counted(value: V | null): V | null {
    if (value === null) this.#misses++
    else this.#hits++
    return value
  }

  /** Remembers what the store has just answered for a name. Many requests share the value, so it is frozen. */
  set(name: string, kept: Kept<V> | null): void {
    if (kept === null) {
      this.#entries.delete(name)
      return
    }
    this.#entries.set(name, { value: freeze(kept.value), expiresAt: kept.expiresAt })
    if (this.#entries.size > this.#maxEntries) this.#pushOut()
  }

  /**
   * Several of the oldest at once: to find the first, a map walks over the places of those that were deleted before. A place
   * that is kept instead keeps every table alive that the map has outgrown since.
   */
  #pushOut(): void {
    let surplus = Math.min(MAX_PUSHED_OUT, Math.ceil(this.#maxEntries / 100))
    for (const name of this.#entries.keys()) {
      if (surplus-- === 0) break
      this.#entries.delete(name)
      this.#evictions++
    }
  }

  /** What a name stands for was changed. */
  evict(name: string): void {
    if (this.#entries.delete(name)) this.#evictions++
  }

  /** Anything may have changed. */
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
