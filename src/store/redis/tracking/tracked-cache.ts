import type { Clock } from '../../../base/clock.ts'
import type { MaybePromise } from '../../../base/maybe-promise.ts'
import { type Kept, Remembered } from '../../remembered-values.ts'
import type { CacheCounts } from '../../store.ts'

/** Stands for one question to the store, whose answer may be kept if its name is not announced meanwhile. */
export type Read = Readonly<Record<never, never>>

/** How a value is read from a store. */
export interface Questions<V> {
  /** Of what may be remembered: with its end, which is never later than the true one. */
  read(): Promise<Kept<V> | null>
  /** Of what may not. */
  find(): MaybePromise<V | null>
}

/**
 * Remembered values of one side (its sessions, its credentials, or the ends of disables), and how long they may be used. Changes
 * are announced in the order in which they happened. A value is returned only while the announcements are proven to be
 * complete. Absence is not remembered.
 */
export class TrackedCache<V> {
  readonly #clock: Clock
  readonly #values: Remembered<V>
  readonly #userOf: (value: V) => string
  /** The last unanswered question for each name that was not announced since. */
  readonly #reads = new Map<string, Read>()
  /** Users of whom this process has ended everything, with the number of proofs begun by then. */
  readonly #endedUsers = new Map<string, number>()
  #proofs = 0
  /** In the time of `Clock.elapsed`; `null` while it is switched off. */
  #provenUntil: number | null = null

  /** `userOf` says whose a value is. */
  constructor(clock: Clock, maxEntries: number, userOf: (value: V) => string) {
    this.#clock = clock
    this.#values = new Remembered(() => clock.now(), maxEntries)
    this.#userOf = userOf
  }

  get size(): number {
    return this.#values.size
  }

  get counts(): CacheCounts {
    return this.#values.counts
  }

  /** The value of a name, if it is cached and valid. */
  get(name: string): V | null {
    return this.#values.counted(this.#believed(name))
  }

  #believed(name: string): V | null {
    if (this.#provenUntil === null || this.#clock.elapsed() >= this.#provenUntil) return null
    const value = this.#values.get(name)
    if (value !== null && this.#endedUsers.size > 0 && this.#endedUsers.has(this.#userOf(value))) return null
    return value
  }

  /** Asks the store for the value of a name, and caches the answer if it may be cached. */
  async ask(name: string, { read, find }: Questions<V>): Promise<V | null> {
    const begun = this.beginRead(name)
    if (begun === null) return find()
    let kept: Kept<V> | null = null
    try {
      kept = await read()
    } finally {
      this.endRead(name, begun, kept)
    }
    return kept?.value ?? null
  }

  /** Called before a query to the store. `null` while nothing may be cached. */
  beginRead(name: string): Read | null {
    if (this.#provenUntil === null) return null
    const read: Read = {}
    this.#reads.set(name, read)
    return read
  }

  /** Called with the answer, or `null` without one: caches it unless the name was announced meanwhile. */
  endRead(name: string, read: Read, kept: Kept<V> | null): void {
    if (this.#reads.get(name) !== read) return
    this.#reads.delete(name)
    this.#values.set(name, kept)
  }

  /** What a name stands for was changed. */
  evict(name: string): void {
    this.#values.evict(name)
    this.#reads.delete(name)
  }

  /**
   * All that a user had was ended by this process, and the announcements have not arrived yet. Until it is proven that they
   * have, none of it is returned.
   */
  evictUser(userId: string): void {
    if (this.#provenUntil !== null) this.#endedUsers.set(userId, this.#proofs)
  }

  /** Anything may have changed. */
  clear(): void {
    this.#values.clear()
    this.#reads.clear()
  }

  /**
   * Begins a proof that every change until now is known. The function that is answered completes it: called once all of
   * them have arrived, it makes the cache valid until a time of `Clock.elapsed`.
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
