import type { EndReason } from '../../../session/end-reason.ts'
import type { SessionRecord } from '../../../session/record.ts'
import type { LoginType } from '../../../session/sides.ts'
import type { Admission, EndNote, MaybePromise, Overview, SessionStore, StoredToken } from '../../store.ts'
import type { ReadableSessions } from '../sessions/sessions.ts'
import type { SessionCache } from './session-cache.ts'

export type SessionCaches = Partial<Record<LoginType, SessionCache>>

/**
 * Sessions of a store, remembered on the sides that have a cache: `find` then answers at once. Sessions that this
 * process ends, renews or rewrites are evicted before this is acknowledged; changes by others are announced to the cache.
 */
export class TrackedSessions implements SessionStore {
  readonly #sessions: SessionStore
  readonly #caches: SessionCaches
  readonly #read: ReadableSessions['read']

  /** What `read` answers is remembered. */
  constructor(sessions: SessionStore, caches: SessionCaches, read: ReadableSessions['read']) {
    this.#sessions = sessions
    this.#caches = caches
    this.#read = read
  }

  find(type: LoginType, token: string): MaybePromise<SessionRecord | null> {
    const cache = this.#caches[type]
    if (cache === undefined) return this.#sessions.find(type, token)
    return cache.get(token) ?? this.#ask(cache, type, token)
  }

  async #ask(cache: SessionCache, type: LoginType, token: string): Promise<SessionRecord | null> {
    const read = cache.beginRead(token)
    if (read === null) return this.#sessions.find(type, token)
    let stored: StoredToken | null = null
    try {
      stored = await this.#read(type, token)
    } finally {
      cache.endRead(token, read, stored)
    }
    return stored?.record ?? null
  }

  add(type: LoginType, token: string, record: SessionRecord, expiresAt: number): Promise<Admission> {
    return this.#sessions.add(type, token, record, expiresAt)
  }

  async remove(type: LoginType, userId: string, token: string, note?: EndNote): Promise<boolean> {
    try {
      return await this.#sessions.remove(type, userId, token, note)
    } finally {
      // Also after a failure: the change may have happened.
      this.#caches[type]?.evict(token)
    }
  }

  async removeAll(type: LoginType, userId: string, note?: EndNote): Promise<number> {
    try {
      return await this.#sessions.removeAll(type, userId, note)
    } finally {
      this.#caches[type]?.evictUser(userId)
    }
  }

  async removeOthers(type: LoginType, userId: string, spared: string, note?: EndNote): Promise<number> {
    try {
      return await this.#sessions.removeOthers(type, userId, spared, note)
    } finally {
      this.#caches[type]?.evictUser(userId)
    }
  }

  async renew(type: LoginType, userId: string, token: string, expiresAt: number): Promise<boolean> {
    try {
      return await this.#sessions.renew(type, userId, token, expiresAt)
    } finally {
      this.#caches[type]?.evict(token)
    }
  }

  async replaceRecord(type: LoginType, userId: string, token: string, record: SessionRecord): Promise<boolean> {
    try {
      return await this.#sessions.replaceRecord(type, userId, token, record)
    } finally {
      this.#caches[type]?.evict(token)
    }
  }

  async removeSome(type: LoginType, userId: string, tokens: readonly string[], note?: EndNote): Promise<string[]> {
    try {
      return await this.#sessions.removeSome(type, userId, tokens, note)
    } finally {
      for (const token of tokens) this.#caches[type]?.evict(token)
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

  disable(type: LoginType, userId: string, until: number): Promise<void> {
    return this.#sessions.disable(type, userId, until)
  }

  disabledUntil(type: LoginType, userId: string): MaybePromise<number | null> {
    return this.#sessions.disabledUntil(type, userId)
  }

  untieDisable(type: LoginType, userId: string): Promise<boolean> {
    return this.#sessions.untieDisable(type, userId)
  }
}
