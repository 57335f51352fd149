import type { MaybePromise } from '../../../base/maybe-promise.ts'
import type { LoginType } from '../../../session/sides.ts'
import type { Credential, CredentialPage, CredentialStore, ListedCredential } from '../../credentials.ts'

import type { RememberableReads } from '../rememberable.ts'
import type { TrackedCache } from './tracked-cache.ts'

/** What is remembered of a side. */
export interface CredentialCaches {
  readonly credentials: TrackedCache<Credential>
}

/** Credentials of a store, remembered as its sessions are: what this process changes is evicted before it is acknowledged. */
export class TrackedCredentials implements CredentialStore {
  readonly #credentials: CredentialStore
  readonly #caches: Partial<Record<LoginType, CredentialCaches>>
  readonly #read: RememberableReads['credential']

  /** What `read` answers is remembered. */
  constructor(
    credentials: CredentialStore,
    caches: Partial<Record<LoginType, CredentialCaches>>,
    read: RememberableReads['credential'],
  ) {
    this.#credentials = credentials
    this.#caches = caches
    this.#read = read
  }

  find(type: LoginType, id: string): MaybePromise<Credential | null> {
    const find = (): MaybePromise<Credential | null> => this.#credentials.find(type, id)
    const cache = this.#caches[type]?.credentials
    if (cache === undefined) return find()
    return cache.get(id) ?? cache.ask(id, { read: () => this.#read(type, id), find })
  }

  add(type: LoginType, credential: Credential, most: number): Promise<boolean> {
    return this.#credentials.add(type, credential, most)
  }

  async succeed(type: LoginType, owner: string, id: string, next: Credential, until: number): Promise<boolean> {
    try {
      return await this.#credentials.succeed(type, owner, id, next, until)
    } finally {
      // Also after a failure: the change may have happened.
      this.#caches[type]?.credentials.evict(id)
    }
  }

  async rewrite(type: LoginType, id: string, from: string, to: string): Promise<boolean> {
    try {
      return await this.#credentials.rewrite(type, id, from, to)
    } finally {
      this.#caches[type]?.credentials.evict(id)
    }
  }

  async remove(type: LoginType, owner: string, id: string): Promise<boolean> {
    try {
      return await this.#credentials.remove(type, owner, id)
    } finally {
      this.#caches[type]?.credentials.evict(id)
    }
  }

  async removeAll(type: LoginType, owner: string): Promise<string[]> {
    try {
      return await this.#credentials.removeAll(type, owner)
    } finally {
      this.#caches[type]?.credentials.evictUser(owner)
    }
  }

  of(type: LoginType, owner: string): Promise<ListedCredential[]> {
    return this.#credentials.of(type, owner)
  }

  page(type: LoginType, offset: number, limit: number): Promise<CredentialPage> {
    return this.#credentials.page(type, offset, limit)
  }

  all(type: LoginType): AsyncIterable<Credential[]> {
    return this.#credentials.all(type)
  }

  used(type: LoginType, id: string, at: number): Promise<void> {
    return this.#credentials.used(type, id, at)
  }
}
