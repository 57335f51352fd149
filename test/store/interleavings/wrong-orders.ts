import type { Clock } from '../../../src/base/clock.ts'
import { type SessionRecord, writeRecord } from '../../../src/session/record.ts'
import type { LoginType } from '../../../src/session/sides.ts'
import type { Keys } from '../../../src/store/redis/commands/key-names.ts'
import type { RedisCommands } from '../../../src/store/redis/commands/redis-commands.ts'
import { RedisSessions } from '../../../src/store/redis/sessions/sessions.ts'
import type { Admission } from '../../../src/store/store.ts'

/*
 * Orders that look right and are not. They are here so that the proofs can fail.
 */

class Orders extends RedisSessions {
  protected readonly redis: RedisCommands
  protected readonly keys: Keys

  constructor(redis: RedisCommands, keys: Keys, clock: Clock) {
    super(redis, keys, clock)
    this.redis = redis
    this.keys = keys
  }
}

/** Login writes the set, then the record: a kickout between them deletes nothing and forgets the token. */
export class SetBeforeRecord extends Orders {
  override async add(type: LoginType, token: string, record: SessionRecord, expiresAt: number): Promise<Admission> {
    const epoch = await this.redis.get(this.keys.kicked(type, record.user_id))
    const disabledUntil = await this.disabledUntil(type, record.user_id)
    if (disabledUntil !== null) return { admitted: false, disabledUntil }
    await this.redis.addMember(this.keys.session(type, record.user_id), token, expiresAt)
    await this.redis.create(this.keys.token(type, token), writeRecord(record), expiresAt)
    if ((await this.redis.get(this.keys.kicked(type, record.user_id))) === epoch) return { admitted: true }
    await this.redis.delete(this.keys.token(type, token))
    return { admitted: false, disabledUntil: null }
  }
}

/** The usual order: SET, SADD; SMEMBERS, DEL records, DEL set. */
export class DeletedSet extends Orders {
  override async add(type: LoginType, token: string, record: SessionRecord, expiresAt: number): Promise<Admission> {
    const disabledUntil = await this.disabledUntil(type, record.user_id)
    if (disabledUntil !== null) return { admitted: false, disabledUntil }
    await this.redis.create(this.keys.token(type, token), writeRecord(record), expiresAt)
    await this.redis.addMember(this.keys.session(type, record.user_id), token, expiresAt)
    return { admitted: true }
  }

  override async removeAll(type: LoginType, userId: string): Promise<number> {
    const set = this.keys.session(type, userId)
    const tokens: string[] = []
    let cursor = '0'
    do {
      const { next, members } = await this.redis.scanMembers(set, cursor)
      tokens.push(...members)
      cursor = next
    } while (cursor !== '0')
    for (const token of tokens) await this.redis.delete(this.keys.token(type, token))
    await this.redis.delete(set)
    return tokens.length
  }
}

/** A kickout whose batches leave the set before their records are deleted: what it had taken out when it died lives on. */
export class BatchOutOfSetFirst extends Orders {
  override async removeAll(type: LoginType, userId: string): Promise<number> {
    const set = this.keys.session(type, userId)
    await this.redis.count(this.keys.kicked(type, userId), 300_000)
    let ended = 0
    for (;;) {
      const tokens = await this.redis.someMembers(set)
      if (tokens.length === 0) return ended
      await this.redis.removeMembers(set, tokens)
      for (const token of tokens) if (await this.redis.revoke(this.keys.token(type, token))) ended++
    }
  }
}

/** Renewal moves the ends without looking whether another renewal has moved them. */
export class BlindRenewal extends Orders {
  override async renew(type: LoginType, userId: string, token: string, expiresAt: number): Promise<boolean> {
    const key = this.keys.token(type, token)
    const set = this.keys.session(type, userId)
    if ((await this.find(type, token))?.user_id !== userId) return false
    await this.redis.extend(set, expiresAt)
    const end = await this.redis.endOf(key)
    if (end === null || (await this.redis.moveEnd(key, end, expiresAt)) === 'gone') return false
    const setEnd = await this.redis.extend(set, expiresAt)
    if (setEnd !== null) await this.redis.endWith(set, token, setEnd, expiresAt)
    return true
  }
}
