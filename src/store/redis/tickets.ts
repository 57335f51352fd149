import type { Clock } from '../../base/clock.ts'
import type { LoginType } from '../../session/sides.ts'
import type { TicketStore } from '../store.ts'
import type { Keys } from './commands/key-names.ts'
import { lifetimeUntil, type RedisCommands } from './commands/redis-commands.ts'

export class RedisTickets implements TicketStore {
  readonly #redis: RedisCommands
  readonly #keys: Keys
  readonly #clock: Clock

  constructor(redis: RedisCommands, keys: Keys, clock: Clock) {
    this.#redis = redis
    this.#keys = keys
    this.#clock = clock
  }

  put(type: LoginType, id: string, text: string, expiresAt: number): Promise<void> {
    return this.#redis.setFor(this.#keys.ticket(type, id), text, lifetimeUntil(expiresAt, this.#clock))
  }

  replace(type: LoginType, id: string, known: string | null, text: string, expiresAt: number): Promise<boolean> {
    return this.#redis.change(this.#keys.ticket(type, id), known, text, lifetimeUntil(expiresAt, this.#clock))
  }

  read(type: LoginType, id: string): Promise<string | null> {
    return this.#redis.get(this.#keys.ticket(type, id))
  }

  take(type: LoginType, id: string): Promise<string | null> {
    return this.#redis.take(this.#keys.ticket(type, id))
  }
}
