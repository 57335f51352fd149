import type { Clock } from '../../clock.ts'
import type { LoginType } from '../../side/record.ts'
import type { AttemptStore, Attempts, CaptchaStore } from '../store.ts'
import type { RedisCommands } from './commands.ts'
import type { Keys } from './keys.ts'

export class RedisCaptchas implements CaptchaStore {
  readonly #redis: RedisCommands
  readonly #keys: Keys

  constructor(redis: RedisCommands, keys: Keys) {
    this.#redis = redis
    this.#keys = keys
  }

  put(type: LoginType, id: string, answer: string, expiresAt: number): Promise<void> {
    return this.#redis.set(this.#keys.captcha(type, id), answer, expiresAt)
  }

  take(type: LoginType, id: string): Promise<string | null> {
    return this.#redis.take(this.#keys.captcha(type, id))
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

  async read(name: string): Promise<Attempts | null> {
    const key = this.#keys.attempts(name)
    const [count, left] = await Promise.all([this.#redis.get(key), this.#redis.timeLeft(key)])
    return count === null || left === null ? null : { count: Number(count), resetsAt: this.#clock.now() + left }
  }

  set(name: string, count: number, resetsAt: number): Promise<void> {
    return this.#redis.set(this.#keys.attempts(name), String(count), resetsAt)
  }

  async clear(name: string): Promise<void> {
    await this.#redis.delete(this.#keys.attempts(name))
  }
}
