import type { Clock } from '../../base/clock.ts'
import type { LoginType } from '../../session/sides.ts'
import type { CaptchaStore } from '../store.ts'
import type { Keys } from './commands/key-names.ts'
import { lifetimeUntil, type RedisCommands } from './commands/redis-commands.ts'

export class RedisCaptchas implements CaptchaStore {
  readonly #redis: RedisCommands
  readonly #keys: Keys
  readonly #clock: Clock

  constructor(redis: RedisCommands, keys: Keys, clock: Clock) {
    this.#redis = redis
    this.#keys = keys
    this.#clock = clock
  }

  /** Counted first: one that is counted and does not exist is forgotten with its end. */
  async put(type: LoginType, id: string, answer: string, expiresAt: number): Promise<void> {
    const lifetime = lifetimeUntil(expiresAt, this.#clock)
    await this.#redis.addEndingFor(this.#keys.captchas(type), id, lifetime)
    await this.#redis.setFor(this.#keys.captcha(type, id), answer, lifetime)
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
