import type { Clock } from '../../../clock.ts'
import type { SessionRecord } from '../../../session.ts'
import type { CacheCounts, StoredToken } from '../../store.ts'

interface Entry {
  record: SessionRecord
  expiresAt: number
}

/** Sessions that make room together, at most and when that is one in a hundred. */
const MAX_PUSHED_OUT = 1000

/** Stands for one question to the store, whose answer may be kept if its token is not announced meanwhile. */
export type Read = Readonly<Record<never, never>>

/**
 * The cached sessions of one side, and how long they may be used. Changes are announced in the order in which they
 * happened. A session is returned only while the announcements are proven to be complete. Absent tokens are not
 * remembered.
 */
export class SessionCache {
  readonly #clock: Clock
  readonly #maxEntries: number
  readonly #entries = new Map<string, Entry>()
  /** The last unanswered question for each token that was not announced since. */
  readonly #reads = new Map<string, Read>()
  /** Users whose sessions this process has ended, with the number of proofs begun by then. */
  readonly #endedUsers = new Map<string, number>()
  #proofs = 0
  #hits = 0
  #misses = 0
  #evictions = 0
  /** `null` while it is switched off. */
  #provenUntil: number | null = null

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

  /** The live record of a token, if it is cached and valid. */
  get(token: string): SessionRecord | null {
    const record = this.#believed(token)
    if (record === null) this.#misses++
    else this.#hits++
    return record
  }

  #believed(token: string): SessionRecord | null {
    const entry = this.#entries.get(token)
    if (entry === undefined || this.#provenUntil === null) return null
    const now = this.#clock.now()
    if (now >= this.#provenUntil || now >= entry.expiresAt) return null
    if (this.#endedUsers.size > 0 && this.#endedUsers.has(entry.record.user_id)) return null
    return entry.record
  }

  /** Called before a query to the store. `null` while nothing may be cached. */
  beginRead(token: string): Read | null {
    if (this.#provenUntil === null) return null
    const read: Read = {}
    this.#reads.set(token, read)
    return read
  }

  /** Called with the answer, or `null` without one: caches it unless the token was announced meanwhile. */
  endRead(token: string, read: Read, stored: StoredToken | null): void {
    if (this.#reads.get(token) !== read) return
    this.#reads.delete(token)
    if (stored === null) {
      this.#entries.delete(token)
      return
    }
    // Many requests share it, so it must not change.
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
    this.#reads.delete(token)
  }

  /**
   * All sessions of a user were ended by this process, and their announcements have not arrived yet. Until it is proven
   * that they have, none of them is returned.
   */
  evictUser(userId: string): void {
    if (this.#provenUntil !== null) this.#endedUsers.set(userId, this.#proofs)
  }

  /** Any token may have changed. */
  clear(): void {
    this.#evictions += this.#entries.size
    this.#entries.clear()
    this.#reads.clear()
  }

  /**
   * Begins a proof that every change until now is known. The function that is answered completes it: called once all of
   * them have arrived, it makes the cache valid until a timestamp.
   */
  beginProof(): (until: number) => void {
    const proof = ++this.#proofs
    return until => {
      this.#provenUntil = until
      for (const [userId, proofsBefore] of this.#endedUsers) {
        if (proofsBefore < proof) this.#endedUsers.delete(userId)
      }
    }
  }

  /** Changes may have been missed: the cache is emptied, and nothing is cached before the next proof. */
  switchOff(): void {
    this.clear()
    this.#endedUsers.clear()
    this.#provenUntil = null
  }
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) freeze(inner)
  return Object.freeze(value)
}
