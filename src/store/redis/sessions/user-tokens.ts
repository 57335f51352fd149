import type { Clock } from '../../../base/clock.ts'
import { readRecord } from '../../../session/record.ts'
import type { LoginType } from '../../../session/sides.ts'
import type { Ages } from '../../age.ts'
import { Newest, overviewOf } from '../../newest-tokens.ts'
import { LISTED_AT_MOST, type Overview, type StoredToken, SURVEYED } from '../../store.ts'
import type { Keys } from '../commands/key-names.ts'
import type { RedisCommands } from '../commands/redis-commands.ts'
import type { SessionObserver } from './observer.ts'
import { Semaphore } from './semaphore.ts'

/** Tokens that are read at once, over all clients: two commands each, and Redis is to answer others meanwhile. */
const READ_AT_ONCE = 200

/** Of a record that cannot be read here, its program may still find the session in the set, and so does a kickout. */
type Found = StoredToken | 'gone' | 'unreadable'

export interface UserTokensOptions {
  redis: RedisCommands
  keys: Keys
  clock: Clock
  ages: Ages
  observer: Pick<SessionObserver, 'reading' | 'seen'>
}

/**
 * Reads the tokens of users, however many one has: page by page, so that neither Redis nor this process is held up, and
 * never more than so many at a time. Members without a record are dead, and leave the set on the way.
 */
export class RedisUserTokens {
  readonly #redis: RedisCommands
  readonly #keys: Keys
  readonly #clock: Clock
  readonly #ages: Ages
  readonly #observer: UserTokensOptions['observer']
  readonly #room = new Semaphore(READ_AT_ONCE)

  constructor({ redis, keys, clock, ages, observer }: UserTokensOptions) {
    this.#redis = redis
    this.#keys = keys
    this.#clock = clock
    this.#ages = ages
    this.#observer = observer
  }

  async *batches(type: LoginType, userId: string): AsyncGenerator<StoredToken[]> {
    const set = this.#keys.session(type, userId)
    const seen = new Set<string>()
    let [cursor, counting] = ['0', '']
    for (;;) {
      const { next, members, server } = await this.#redis.scanMembers(set, cursor)
      const fresh = members.filter(token => !seen.has(token) && seen.add(token))
      const live = await this.#room.within(fresh.length, () => this.#readAll(type, userId, fresh))
      if (live.length > 0) yield live
      // Another server has taken over, to which the cursor meant nothing: what it passed over is found from the start.
      const isPassedOver = cursor !== '0' && server !== counting
      if (next === '0' && !isPassedOver) return
      cursor = isPassedOver ? '0' : next
      counting = server
    }
  }

  async #readAll(type: LoginType, userId: string, tokens: readonly string[]): Promise<StoredToken[]> {
    const found = await Promise.all(tokens.map(token => this.#find(type, token)))
    const isOwn = (read: Found | undefined): read is StoredToken =>
      typeof read === 'object' && read.record.user_id === userId
    const dead = tokens.filter((_, i) => found[i] !== 'unreadable' && !isOwn(found[i]))
    await this.#redis.removeMembers(this.#keys.session(type, userId), dead)
    return found.filter(isOwn)
  }

  async read(type: LoginType, token: string): Promise<StoredToken | null> {
    const found = await this.#find(type, token)
    return typeof found === 'object' ? found : null
  }

  async #find(type: LoginType, token: string): Promise<Found> {
    const key = this.#keys.token(type, token)
    // Read before the question, so that the answered end is never later than the true one.
    const now = this.#clock.now()
    const [text, left] = await Promise.all([this.#redis.get(key), this.#redis.timeLeft(key)])
    if (text === null || left === null) return 'gone'
    const record = readRecord(text, type)
    if (record === null) return 'unreadable'
    this.#observer.seen(type, token, record.user_id)
    return { token, record, expiresAt: now + left }
  }

  async newest(type: LoginType, userId: string, limit = LISTED_AT_MOST): Promise<StoredToken[]> {
    const found = this.#observer.reading(type, userId)
    const newest = new Newest(limit, this.#ages)
    for await (const batch of this.batches(type, userId)) newest.add(batch)
    // Of a user with more, the round finds what is not in the online keys.
    if (newest.added <= Math.min(limit, SURVEYED)) await found(newest.list())
    return newest.list()
  }

  async overview(type: LoginType, userId: string): Promise<Overview | null> {
    const set = this.#keys.session(type, userId)
    if ((await this.#redis.countMembers(set)) <= SURVEYED) return overviewOf(await this.newest(type, userId))
    const sample = await this.#sample(type, userId)
    const [count, left] = await Promise.all([this.#redis.countMembers(set), this.#redis.timeLeft(set)])
    const seen = overviewOf(sample)
    if (seen === null) return null
    return { ...seen, count, expiresAt: Math.max(seen.expiresAt, this.#clock.now() + (left ?? 0)) }
  }

  /** A part of very many tokens. */
  async #sample(type: LoginType, userId: string): Promise<StoredToken[]> {
    const sample = new Newest(SURVEYED, this.#ages)
    for await (const batch of this.batches(type, userId)) {
      sample.add(batch)
      if (sample.added >= SURVEYED) break
    }
    return sample.list()
  }
}
