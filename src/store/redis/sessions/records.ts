import type { Clock } from '../../../base/clock.ts'
import type { LoginType } from '../../../session/sides.ts'
import type { AttemptStore, Attempts, CaptchaStore, TicketStore } from '../../store.ts'
import type { Keys } from '../commands/key-names.ts'
import type { RedisCommands } from '../commands/redis-commands.ts'

export class RedisCaptchas implements CaptchaStore {
  readonly #redis: RedisCommands
  readonly #keys: Keys

  constructor(redis: RedisCommands, keys: Keys) {
    this.#redis = redis
    this.#keys = keys
  }

  /** Counted first: one that is counted and does not exist is forgotten with its end. */
  async put(type: LoginType, id: string, answer: string, expiresAt: number): Promise<void> {
    await this.#redis.addEnding(this.#keys.captchas(type), id, expiresAt)
    await this.#redis.set(this.#keys.captcha(type, id), answer, expiresAt)
  }

  async take(type: LoginType, id: string): Promise<string | null> {
    const answer = await this.#redis.take(this.#keys.captcha(type, id))
    // No login waits for the count, nor fails by it.
    if (answer !== null) this.#redis.removeEnding(this.#keys.captchas(type), id).catch(() => undefined)
    return answer
  }

  outstanding(type: LoginType): Promise<number> {
    return this.#redis.countEnding(this.#keys.captchas(type))
  }
}

export class RedisTickets implements TicketStore {
  readonly #redis: RedisCommands
  readonly #keys: Keys

  constructor(redis: RedisCommands, keys: Keys) {
    this.#redis = redis
    this.#keys = keys
  }

  put(type: LoginType, id: string, text: string, expiresAt: number): Promise<void> {
    return this.#redis.set(this.#keys.ticket(type, id), text, expiresAt)
  }

  read(type: LoginType, id: string): Promise<string | null> {
    return this.#redis.get(this.#keys.ticket(type, id))
  }

  take(type: LoginType, id: string): Promise<string | null> {
    return this.#redis.take(this.#keys.ticket(type, id))
  }
}

export class RedisAttempts implements AttemptStore {
  readonly #redis: RedisCommands
  readonly #keys: Keys
  readonly #clock: Clock

  constructor(redis: RedisCommands, keys: Keys, clock: Clock) {
    this.#redis = redis
    this.#keys = keys
    this.#clock = clock
  }

  async count(name: string, window: number): Promise<Attempts> {
    const { count, timeLeft } = await this.#redis.count(this.#keys.attempts(name), window)
    return { count, resetsAt: this.#clock.now() + timeLeft }
  }

  async begin(name: string, id: string, lifetime: number, most: number): Promise<number | null> {
    return (await this.#redis.beginAttempt(this.#keys.underWay(name), id, lifetime, most)) || null
  }

  end(name: string, id: string): Promise<void> {
    return this.#redis.removeEnding(this.#keys.underWay(name), id)
  }

  async read(name: string): Promise<Attempts | null> {
    const key = this.#keys.attempts(name)
    const [count, left] = await Promise.all([this.#redis.get(key), this.#redis.timeLeft(key)])
    return count === null || left === null ? null : { count: Number(count), resetsAt: this.#clock.now() + left }
  }

  set(name: string, count: number, resetsAt: number): Promise<void> {
    return this.#redis.set(this.#keys.attempts(name), String(count), resetsAt)
  }

  raise(name: string, count: number, window: number): Promise<boolean> {
    return this.#redis.raise(this.#keys.attempts(name), count, window)
  }

  async clear(name: string): Promise<void> {
    await this.#redis.delete(this.#keys.attempts(name))
  }
}
