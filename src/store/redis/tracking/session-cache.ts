import type { Clock } from '../../../base/clock.ts'
import type { SessionRecord } from '../../../session/record.ts'
import { RememberedSessions } from '../../remembered.ts'
import type { CacheCounts, StoredToken } from '../../store.ts'

/** Stands for one question to the store, whose answer may be kept if its token is not announced meanwhile. */
export type Read = Readonly<Record<never, never>>

/**
 * The cached sessions of one side, and how long they may be used. Changes are announced in the order in which they
 * happened. A session is returned only while the announcements are proven to be complete. Absent tokens are not
 * remembered.
 */
export class SessionCache {
  readonly #clock: Clock
  readonly #sessions: RememberedSessions
  /** The last unanswered question for each token that was not announced since. */
  readonly #reads = new Map<string, Read>()
  /** Users whose sessions this process has ended, with the number of proofs begun by then. */
  readonly #endedUsers = new Map<string, number>()
  #proofs = 0
  /** `null` while it is switched off. */
  #provenUntil: number | null = null

  constructor(clock: Clock, maxEntries: number) {
    this.#clock = clock
    this.#sessions = new RememberedSessions(clock, maxEntries)
  }

  get size(): number {
    return this.#sessions.size
  }

  get counts(): CacheCounts {
    return this.#sessions.counts
  }

  /** The live record of a token, if it is cached and valid. */
  get(token: string): SessionRecord | null {
    return this.#sessions.counted(this.#believed(token))
  }

  #believed(token: string): SessionRecord | null {
    if (this.#provenUntil === null || this.#clock.now() >= this.#provenUntil) return null
    const record = this.#sessions.get(token)
    if (record !== null && this.#endedUsers.size > 0 && this.#endedUsers.has(record.user_id)) return null
    return record
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
    this.#sessions.set(token, stored)
  }

  /** A token was changed. */
  evict(token: string): void {
    this.#sessions.evict(token)
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
    this.#sessions.clear()
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
