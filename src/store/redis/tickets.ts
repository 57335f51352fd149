import type { LoginType } from '../../session/sides.ts'
import type { TicketStore } from '../store.ts'
import type { Keys } from './commands/key-names.ts'
import type { RedisCommands } from './commands/redis-commands.ts'

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
