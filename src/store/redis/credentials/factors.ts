import type { LoginType } from '../../../session/sides.ts'
import { checkFactor, type FactorStore } from '../../factors.ts'
import type { Keys } from '../commands/key-names.ts'
import type { RedisCommands } from '../commands/redis-commands.ts'
import type { Ask } from '../commands/send-command.ts'
import type { RedisClient } from '../connection/client.ts'

/** KEYS[1] text, ARGV[1] the stored one, empty for none, ARGV[2] another one. Answers 0 if another one is stored. */
const REPLACE = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1`

/** Commands on the keys of second factors, on one key each. */
export interface FactorCommands extends Pick<RedisCommands, 'get'> {
  /** Replaces a text that is `from`; `null` stands for none. `false` if it is another one. */
  replaceFactor(key: string, from: string | null, to: string): Promise<boolean>
}

export function factorCommandsOn(client: RedisClient, ask: Ask): Pick<FactorCommands, 'replaceFactor'> {
  client.defineCommand('factorReplace', { numberOfKeys: 1, lua: REPLACE })
  const scripts = client as unknown as { factorReplace(key: string, from: string, to: string): Promise<0 | 1> }
  return {
    replaceFactor: async (key, from, to) => (await ask(() => scripts.factorReplace(key, from ?? '', to))) === 1,
  }
}

/** Second factors in Redis: a key for each login id. */
export class RedisFactors implements FactorStore {
  readonly #redis: FactorCommands
  readonly #keys: Keys

  constructor(redis: FactorCommands, keys: Keys) {
    this.#redis = redis
    this.#keys = keys
  }

  read(type: LoginType, loginId: string): Promise<string | null> {
    return this.#redis.get(this.#keys.secondFactor(type, loginId))
  }

  async replace(type: LoginType, loginId: string, from: string | null, to: string): Promise<boolean> {
    checkFactor(to)
    return this.#redis.replaceFactor(this.#keys.secondFactor(type, loginId), from, to)
  }
}
