import type { LoginType } from '../../session/sides.ts'
import type { CaptchaStore } from '../store.ts'
import type { Keys } from './commands/key-names.ts'
import type { RedisCommands } from './commands/redis-commands.ts'

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
