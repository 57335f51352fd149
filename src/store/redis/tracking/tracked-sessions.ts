import type { MaybePromise } from '../../../base/maybe-promise.ts'
import type { EndReason } from '../../../session/end-reason.ts'
import type { SessionRecord } from '../../../session/record.ts'
import type { LoginType } from '../../../session/sides.ts'
import type { Disable } from '../../remembered-values.ts'
import type { Admission, EndNote, EndOf, ExtraOf, Overview, SessionStore, StoredToken } from '../../store.ts'
import type { RememberableReads } from '../rememberable.ts'
import type { TrackedCache } from './tracked-cache.ts'

/** What is remembered of a side. */
export interface SessionCaches {
  readonly sessions: TrackedCache<SessionRecord>
  readonly disables: TrackedCache<Disable>
}

/**
 * Sessions of a store, remembered on the sides that have caches: `find` then answers at once, and so does `rememberedDisable`,
 * also for a login id that is not disabled. What this process ends, renews, rewrites, disables or unties is evicted before this
 * is acknowledged; changes by others are announced to the caches.
 */
export class TrackedSessions implements SessionStore {
  readonly #sessions: SessionStore
  readonly #caches: Partial<Record<LoginType, SessionCaches>>
  readonly #reads: Pick<RememberableReads, 'session' | 'disable'>

  /** What `reads` answer is remembered. */
  constructor(
    sessions: SessionStore,
    caches: Partial<Record<LoginType, SessionCaches>>,
    reads: Pick<RememberableReads, 'session' | 'disable'>,
  ) {
    this.#sessions = sessions
    this.#caches = caches
    this.#reads = reads
  }

  find(type: LoginType, token: string): MaybePromise<SessionRecord | null> {
    const cache = this.#caches[type]?.sessions
    if (cache === undefined) return this.#sessions.find(type, token)
    return cache.get(token) ?? this.#ask(cache, type, token)
  }

  #ask(cache: TrackedCache<SessionRecord>, type: LoginType, token: string): Promise<SessionRecord | null> {
    return cache.ask(token, {
      read: () => this.#reads.session(type, token),
      find: () => this.#sessions.find(type, token),
    })
  }

  add(type: LoginType, token: string, record: SessionRecord, expiresAt: number): Promise<Admission> {
    return this.#sessions.add(type, token, record, expiresAt)
  }

  async remove(type: LoginType, userId: string, token: string, note?: EndNote): Promise<boolean> {
    try {
      return await this.#sessions.remove(type, userId, token, note)
    } finally {
      // Also after a failure: the change may have happened.
      this.#caches[type]?.sessions.evict(token)
    }
  }

  async removeAll(type: LoginType, userId: string, note?: EndNote): Promise<number> {
    try {
      return await this.#sessions.removeAll(type, userId, note)
    } finally {
      this.#caches[type]?.sessions.evictUser(userId)
    }
  }

  async removeOthers(type: LoginType, userId: string, spared: string, note?: EndNote): Promise<number> {
    try {
      return await this.#sessions.removeOthers(type, userId, spared, note)
    } finally {
      this.#caches[type]?.sessions.evictUser(userId)
    }
  }

  async renew(type: LoginType, userId: string, token: string, end: EndOf): Promise<boolean> {
    try {
      return await this.#sessions.renew(type, userId, token, end)
    } finally {
      this.#caches[type]?.sessions.evict(token)
    }
  }

  async replaceRecord(type: LoginType, userId: string, token: string, extraOf: ExtraOf): Promise<boolean> {
    try {
      return await this.#sessions.replaceRecord(type, userId, token, extraOf)
    } finally {
      this.#caches[type]?.sessions.evict(token)
    }
  }

  async removeSome(type: LoginType, userId: string, tokens: readonly string[], note?: EndNote): Promise<string[]> {
    try {
      return await this.#sessions.removeSome(type, userId, tokens, note)
    } finally {
      for (const token of tokens) this.#caches[type]?.sessions.evict(token)
    }
  }

  whyEnded(type: LoginType, token: string): MaybePromise<EndReason | null> {
    return this.#sessions.whyEnded(type, token)
  }

  tokens(type: LoginType, userId: string, limit?: number): Promise<StoredToken[]> {
    return this.#sessions.tokens(type, userId, limit)
  }

  batches(type: LoginType, userId: string): AsyncIterable<StoredToken[]> {
    return this.#sessions.batches(type, userId)
  }

  count(type: LoginType, userId: string): Promise<number> {
    return this.#sessions.count(type, userId)
  }

  overview(type: LoginType, userId: string): Promise<Overview | null> {
    return this.#sessions.overview(type, userId)
  }

  tokenExpiresAt(type: LoginType, token: string): Promise<number | null> {
    return this.#sessions.tokenExpiresAt(type, token)
  }

  sessionExpiresAt(type: LoginType, userId: string): Promise<number | null> {
    return this.#sessions.sessionExpiresAt(type, userId)
  }

  async disable(type: LoginType, userId: string, until: number): Promise<void> {
    try {
      await this.#sessions.disable(type, userId, until)
    } finally {
      this.#caches[type]?.disables.evict(userId)
    }
  }

  disabledUntil(type: LoginType, userId: string): MaybePromise<number | null> {
    return this.#sessions.disabledUntil(type, userId)
  }

  rememberedDisable(type: LoginType, userId: string): MaybePromise<number | null> {
    const cache = this.#caches[type]?.disables
    if (cache === undefined) return this.#sessions.rememberedDisable(type, userId)
    const known = cache.get(userId)
    return known === null ? this.#askDisabled(cache, type, userId) : known.until
  }

  async #askDisabled(cache: TrackedCache<Disable>, type: LoginType, userId: string): Promise<number | null> {
    const find = async (): Promise<Disable> => ({
      userId,
      until: await this.#sessions.disabledUntil(type, userId),
    })
    const disable = await cache.ask(userId, { read: () => this.#reads.disable(type, userId), find })
    return disable?.until ?? null
  }

  async untieDisable(type: LoginType, userId: string): Promise<boolean> {
    try {
      return await this.#sessions.untieDisable(type, userId)
    } finally {
      this.#caches[type]?.disables.evict(userId)
    }
  }
}
