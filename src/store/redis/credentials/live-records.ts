import { Unavailable } from '../../../base/refusal.ts'
import type { LoginType } from '../../../session/sides.ts'
import type { Keys } from '../commands/key-names.ts'
import type { CredentialCommands } from './commands.ts'
import { readLive, type StoredCredential, writeCredential } from './record.ts'

/** Tries to rewrite a record that is being rewritten. */
const MAX_TRIES = 1000

/** Records of credentials that can be found: read, and changed from what was read. */
export class LiveRecords {
  readonly #redis: CredentialCommands
  readonly #keys: Keys

  constructor(redis: CredentialCommands, keys: Keys) {
    this.#redis = redis
    this.#keys = keys
  }

  async get(type: LoginType, id: string): Promise<StoredCredential | null> {
    return readLive(id, await this.#redis.get(this.#keys.credential(type, id)))
  }

  /**
   * Changes a live record to what `change` makes of it, and answers that; `null` if it is not live, or `change` makes nothing.
   * Only `activate` can give it a later end.
   */
  async change(
    type: LoginType,
    id: string,
    change: (stored: StoredCredential) => StoredCredential | null,
    write: 'exchange' | 'activate' = 'exchange',
  ): Promise<StoredCredential | null> {
    const key = this.#keys.credential(type, id)
    for (let round = 0; round < MAX_TRIES; round++) {
      const text = await this.#redis.get(key)
      const live = readLive(id, text)
      const changed = live === null ? null : change(live)
      if (text === null || changed === null) return null
      if (await this.#redis[write](key, text, writeCredential(changed), changed.expiresAt)) return changed
    }
    throw new Unavailable('Redis: the credential is rewritten without end')
  }
}
