import type { Clock } from '../../../base/clock.ts'
import { Unavailable } from '../../../base/refusal.ts'
import { type EndReason, readEndReason } from '../../../session/end-reason.ts'
import { readRecord, type SessionRecord, withExtra, writeRecord } from '../../../session/record.ts'
import type { LoginType } from '../../../session/sides.ts'
import { createAges } from '../../age.ts'
import {
  type Admission,
  afterEnding,
  type EndNote,
  type EndOf,
  type ExtraOf,
  endIn,
  type Overview,
  type SessionStore,
  type StoredToken,
} from '../../store.ts'
import type { Keys } from '../commands/key-names.ts'
import { MEMBERS_AT_ONCE, type Note, type RedisCommands } from '../commands/redis-commands.ts'
import { NO_OBSERVER, type SessionObserver } from './observer.ts'
import { RedisUserTokens } from './user-tokens.ts'

/** Rounds of a kickout, of some hundred sessions each. A user who has more than that is being signed in without end. */
const MAX_ROUNDS = 10_000
/** Tries to replace a record that is being replaced. */
const MAX_TRIES = 1000
/**
 * What a set may live on beyond its only token, in milliseconds. Every renewal moves the set's end a little further, and
 * its end distinguishes them: if that little were taken back, two of them could have the same end.
 */
const SPARE = 1000

/** Sessions that are read together with their ends. */
export interface ReadableSessions extends SessionStore {
  /** The live record of a token and its end, which is never later than the true one; `null` if this side has none. */
  read(type: LoginType, token: string): Promise<StoredToken | null>
}

/**
 * Sessions in Redis under the specified keys. No verb can be one transaction there, so safety comes from order: a
 * record is written before its token enters the user's set and deleted before it leaves it, and the answer comes after
 * both. So a token that could not be ended is never issued, and a member without a record is permanently dead.
 */
export class RedisSessions implements ReadableSessions {
  readonly #redis: RedisCommands
  readonly #keys: Keys
  readonly #clock: Clock
  readonly #observer: SessionObserver
  readonly #users: RedisUserTokens

  constructor(redis: RedisCommands, keys: Keys, clock: Clock, observer = NO_OBSERVER, ages = createAges()) {
    this.#redis = redis
    this.#keys = keys
    this.#clock = clock
    this.#observer = observer
    this.#users = new RedisUserTokens({ redis, keys, clock, ages, observer })
  }

  async add(type: LoginType, token: string, record: SessionRecord, expiresAt: number): Promise<Admission> {
    const { user_id: userId } = record
    const [epoch, disabledUntil] = await this.#barriers(type, userId)
    if (disabledUntil !== null) return { admitted: false, disabledUntil }
    try {
      await this.#store(type, token, record, expiresAt)
      // A kickout or a disable that ran meanwhile may have looked before the token could be found.
      const [epochNow, disabledNow] = await this.#barriers(type, userId)
      if (epochNow === epoch && disabledNow === null) {
        this.#observer.added(type, token, record, expiresAt)
        return { admitted: true }
      }
      await this.#end(type, userId, [token])
      return { admitted: false, disabledUntil: disabledNow }
    } catch (fault) {
      // However far it came, the client gets no token, and nothing may be left.
      await this.#end(type, userId, [token]).catch(() => undefined)
      throw fault
    }
  }

  /** The record before the set, or both at once: a record that no kickout could end must not be found alone. */
  async #store(type: LoginType, token: string, record: SessionRecord, expiresAt: number): Promise<void> {
    const [key, set] = [this.#keys.token(type, token), this.#keys.session(type, record.user_id)]
    const text = writeRecord(record)
    if (this.#redis.enter !== undefined) return this.#redis.enter(key, text, set, token, expiresAt)
    await this.#redis.create(key, text, expiresAt)
    await this.#redis.addMember(set, token, expiresAt)
  }

  /** What a login must not overlap: the count of kickouts, and until when the login id is disabled. */
  #barriers(type: LoginType, userId: string): Promise<[epoch: string | null, disabledUntil: number | null]> {
    return Promise.all([this.#redis.get(this.#keys.kicked(type, userId)), this.disabledUntil(type, userId)])
  }

  /** Record before index; answers the tokens that had a record. */
  async #end(type: LoginType, userId: string, tokens: readonly string[], note?: EndNote): Promise<string[]> {
    const deleted = await Promise.all(
      tokens.map(token => this.#redis.revoke(this.#keys.token(type, token), note && this.#noteOf(type, token, note))),
    )
    this.#observer.ended(type, userId, tokens)
    await this.#redis.removeMembers(this.#keys.session(type, userId), tokens)
    return tokens.filter((_, i) => deleted[i])
  }

  #noteOf(type: LoginType, token: string, { reason, until }: EndNote): Note {
    return { key: this.#keys.ended(type, token), value: reason, expiresAt: until }
  }

  async whyEnded(type: LoginType, token: string): Promise<EndReason | null> {
    const text = await this.#redis.get(this.#keys.ended(type, token))
    return text === null ? null : readEndReason(text)
  }

  async find(type: LoginType, token: string): Promise<SessionRecord | null> {
    const text = await this.#redis.read(this.#keys.token(type, token))
    const record = text === null ? null : readRecord(text, type)
    if (record !== null) this.#observer.seen(type, token, record.user_id)
    return record
  }

  async remove(type: LoginType, userId: string, token: string, note?: EndNote): Promise<boolean> {
    const record = await this.find(type, token)
    if (record?.user_id !== userId) return false
    return (await this.#end(type, userId, [token], note)).length > 0
  }

  async removeSome(type: LoginType, userId: string, tokens: readonly string[], note?: EndNote): Promise<string[]> {
    const ended: string[] = []
    for (let i = 0; i < tokens.length; i += MEMBERS_AT_ONCE) {
      const batch = tokens.slice(i, i + MEMBERS_AT_ONCE)
      const records = await Promise.all(batch.map(token => this.find(type, token)))
      const own = batch.filter((_, i) => records[i]?.user_id === userId)
      if (own.length > 0) ended.push(...(await this.#end(type, userId, own, note)))
    }
    return ended
  }

  removeAll(type: LoginType, userId: string, note?: EndNote): Promise<number> {
    return this.removeOthers(type, userId, null, note)
  }

  /**
   * In batches, until the set has no others: each deletes its records before their tokens leave the set. A cursor would not do:
   * it means nothing to the server that takes over in a failover, and what it passed over would live on.
   */
  async removeOthers(type: LoginType, userId: string, spared: string | null, note?: EndNote): Promise<number> {
    const set = this.#keys.session(type, userId)
    const epoch = this.#redis.countKickout(this.#keys.kicked(type, userId))
    // A Redis that is full counts no more, but deletes: what can be ended is ended, whatever is answered then.
    const fault = await epoch.then(
      () => null,
      (fault: unknown) => fault,
    )
    let ended = 0
    try {
      for (let round = 0; ; round++) {
        const tokens = (await this.#redis.someMembers(set)).filter(token => token !== spared)
        if (tokens.length === 0) break
        if (round === MAX_ROUNDS) throw new Unavailable('Redis: sessions are added as fast as they are ended')
        ended += (await this.#end(type, userId, tokens, note)).length
      }
      if (fault !== null) throw fault
      return ended
    } catch (fault) {
      throw afterEnding(ended, fault)
    }
  }

  /**
   * The set is extended before its token, so it never ends first. It is shortened after its token, and only if no other
   * renewal has begun since ours did (the set's end would differ) or can still move the token's end on what it read before
   * (the token's end differs): one that dies half-way would leave a token that lives on outside its set.
   */
  async renew(type: LoginType, userId: string, token: string, end: EndOf): Promise<boolean> {
    const key = this.#keys.token(type, token)
    // The end first: a renewal that comes after the record was read has then moved that end, and keeps it.
    const [from, record] = await Promise.all([this.#redis.endOf(key), this.find(type, token)])
    if (record?.user_id !== userId || from === null) return false
    const expiresAt = endIn(end, record.extra)
    const set = this.#keys.session(type, userId)
    const setEnd = await this.#redis.extend(set, expiresAt)
    const outcome = await this.#redis.moveEnd(key, from, expiresAt)
    if (outcome === 'moved') this.#observer.renewed(type, userId, token, expiresAt)
    if (outcome === 'moved' && setEnd !== null && expiresAt < setEnd - SPARE) {
      await this.#redis.endWith(set, token, setEnd, expiresAt)
    }
    // Changed meanwhile: ours is as good as done just before the other renewal.
    return outcome !== 'gone'
  }

  async replaceRecord(type: LoginType, userId: string, token: string, extraOf: ExtraOf): Promise<boolean> {
    const key = this.#keys.token(type, token)
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const text = await this.#redis.read(key)
      const stored = text === null ? null : readRecord(text, type)
      if (text === null || stored?.user_id !== userId) return false
      if (await this.#redis.replace(key, text, withExtra(text, extraOf(stored.extra)))) return true
    }
    throw new Unavailable('Redis: the session is rewritten without end')
  }

  tokens(type: LoginType, userId: string, limit?: number): Promise<StoredToken[]> {
    return this.#users.newest(type, userId, limit)
  }

  batches(type: LoginType, userId: string): AsyncIterable<StoredToken[]> {
    return this.#users.batches(type, userId)
  }

  count(type: LoginType, userId: string): Promise<number> {
    return this.#redis.countMembers(this.#keys.session(type, userId))
  }

  overview(type: LoginType, userId: string): Promise<Overview | null> {
    return this.#users.overview(type, userId)
  }

  read(type: LoginType, token: string): Promise<StoredToken | null> {
    return this.#users.read(type, token)
  }

  async tokenExpiresAt(type: LoginType, token: string): Promise<number | null> {
    const key = this.#keys.token(type, token)
    const [record, left] = await Promise.all([this.find(type, token), this.#redis.timeLeft(key)])
    return record === null || left === null ? null : this.#clock.now() + left
  }

  async sessionExpiresAt(type: LoginType, userId: string): Promise<number | null> {
    return (await this.overview(type, userId))?.expiresAt ?? null
  }

  async disable(type: LoginType, userId: string, until: number): Promise<void> {
    await this.#redis.disable(this.#keys.disable(type, userId), until)
    this.#observer.disabled(type, userId, until)
  }

  async disabledUntil(type: LoginType, userId: string): Promise<number | null> {
    const left = await this.#redis.timeLeft(this.#keys.disable(type, userId))
    return left === null ? null : this.#clock.now() + left
  }

  rememberedDisable(type: LoginType, userId: string): Promise<number | null> {
    return this.disabledUntil(type, userId)
  }

  async untieDisable(type: LoginType, userId: string): Promise<boolean> {
    const wasDisabled = await this.#redis.untie(this.#keys.disable(type, userId))
    this.#observer.disabled(type, userId, 0)
    return wasDisabled
  }
}
