import type { Clock } from '../../../src/base/clock.ts'
import { Unavailable } from '../../../src/base/refusal.ts'
import type { LoginType } from '../../../src/session/sides.ts'
import type { Credential } from '../../../src/store/credentials.ts'
import type { Keys } from '../../../src/store/redis/commands/key-names.ts'
import { RedisCredentials } from '../../../src/store/redis/credentials/credentials.ts'
import { readLive, writeCredential } from '../../../src/store/redis/credentials/record.ts'
import type { Commands } from './model-redis.ts'

/*
 * Orders that look right and are not. They are here so that the proofs can fail.
 */

class Orders extends RedisCredentials {
  protected readonly redis: Commands
  protected readonly keys: Keys

  constructor(redis: Commands, keys: Keys, clock: Clock) {
    super(redis, keys, clock)
    this.redis = redis
    this.keys = keys
  }

  protected keyOf(type: LoginType, { id }: { id: string }): string {
    return this.keys.credential(type, id)
  }

  protected create(type: LoginType, credential: Credential): Promise<boolean> {
    const text = writeCredential({ ...credential, state: 'live', storedAt: 1 })
    return this.redis.create(this.keyOf(type, credential), text, credential.expiresAt)
  }
}

/** A record that can be found at once is written, and then entered into the list: one that dies between them is in no list. */
export class RecordBeforeList extends Orders {
  override async add(type: LoginType, credential: Credential, most: number): Promise<boolean> {
    const { id, owner, expiresAt } = credential
    await this.create(type, credential)
    const at = await this.redis.reserve(this.keys.credentials(type, owner), id, expiresAt, most)
    if (at === null) await this.redis.revoke(this.keyOf(type, credential))
    return at !== null
  }
}

/** The place first, then the record, then a look at whether the place is still there: one that dies before it is in no list. */
export class ListBeforeRecord extends Orders {
  override async add(type: LoginType, credential: Credential, most: number): Promise<boolean> {
    const { id, owner, expiresAt } = credential
    const list = this.keys.credentials(type, owner)
    if ((await this.redis.reserve(list, id, expiresAt, most)) === null) return false
    await this.create(type, credential)
    if ((await this.redis.listed(list)).includes(id)) return true
    await this.redis.revoke(this.keyOf(type, credential))
    throw new Unavailable('ended')
  }

  /** Ends the record once more, behind the list. */
  override async removeAll(type: LoginType, owner: string): Promise<string[]> {
    const list = this.keys.credentials(type, owner)
    const ids = await this.redis.listed(list)
    for (const id of ids) await this.redis.revoke(this.keyOf(type, { id }))
    await this.redis.release(list, ids)
    for (const id of ids) await this.redis.revoke(this.keyOf(type, { id }))
    return ids
  }
}

/** What ends a credential takes it out of the list first. */
export class OutOfListFirst extends Orders {
  override async remove(type: LoginType, owner: string, id: string): Promise<boolean> {
    if (readLive(id, await this.redis.get(this.keyOf(type, { id })))?.owner !== owner) return false
    await this.redis.release(this.keys.credentials(type, owner), [id])
    return this.redis.revoke(this.keyOf(type, { id }))
  }
}

/** The end of all reads the list once: what takes the place of another one meanwhile lives on. */
export class EndOfOneLook extends Orders {
  override async removeAll(type: LoginType, owner: string): Promise<string[]> {
    const list = this.keys.credentials(type, owner)
    const ids = await this.redis.listed(list)
    for (const id of ids) await this.redis.revoke(this.keyOf(type, { id }))
    await this.redis.delete(list)
    return ids
  }
}

/** The record is read and then written, whatever it has become meanwhile. */
export class BlindRewriting extends Orders {
  override async rewrite(type: LoginType, id: string, from: string, to: string): Promise<boolean> {
    const key = this.keyOf(type, { id })
    const live = readLive(id, await this.redis.get(key))
    if (live?.text !== from) return false
    await this.redis.set(key, writeCredential({ ...live, text: to }), live.expiresAt)
    return true
  }
}

/** Whether a credential was succeeded is read, and then written. */
export class BlindSuccession extends Orders {
  override async succeed(
    type: LoginType,
    owner: string,
    id: string,
    next: Credential,
    until: number,
  ): Promise<boolean> {
    const key = this.keyOf(type, { id })
    const live = readLive(id, await this.redis.get(key))
    if (live?.owner !== owner || live.state !== 'live') return false
    const ends = Math.min(live.expiresAt, until)
    await this.redis.set(key, writeCredential({ ...live, state: 'succeeded', expiresAt: ends }), live.expiresAt)
    await this.redis.reserve(this.keys.credentials(type, owner), next.id, next.expiresAt, Infinity)
    await this.create(type, next)
    return true
  }
}
