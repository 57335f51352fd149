import type { Clock } from '../../base/clock.ts'
import type { AttemptStore, Attempts } from '../store.ts'
import type { Keys } from './commands/key-names.ts'
import { lifetimeUntil, type RedisCommands } from './commands/redis-commands.ts'

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
    return this.#redis.setFor(this.#keys.attempts(name), String(count), lifetimeUntil(resetsAt, this.#clock))
  }

  raise(name: string, count: number, window: number): Promise<boolean> {
    return this.#redis.raise(this.#keys.attempts(name), count, window)
  }

  async clear(name: string): Promise<void> {
    await this.#redis.delete(this.#keys.attempts(name))
  }
}
