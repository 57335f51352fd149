import type { Clock } from '../clock.ts'
import type { Settings } from '../config/schema.ts'
import type { SessionCacheSettings } from '../config/session-cache-schema.ts'
import type { Logger } from '../log.ts'
import type { Changes } from './changes.ts'
import { openEmbeddedStore } from './embedded/embedded.ts'
import type { RedisClient } from './redis/client.ts'
import { createKeys } from './redis/keys.ts'
import { openRedisStore } from './redis/redis.ts'
import { trackRedisStore } from './redis/tracked.ts'
import type { SessionCaches } from './redis/tracked-sessions.ts'
import type { Store } from './store.ts'

/** A store, and the Redis connection below it when it is in Redis. */
export interface OpenedStore extends Store {
  readonly redis?: RedisClient
  /** Where the store tells what becomes of sessions. */
  readonly changes: Changes
  /** The sessions that this process remembers, of the sides that it does so for. */
  readonly caches?: SessionCaches
}

/**
 * Opens the configured store; `data` is the folder of the embedded one. A store in Redis remembers sessions as `cache`
 * says; without it, it asks every time. `isWatched` says whether anybody will want to be told of changes.
 */
export async function openStore(
  settings: Settings['store'],
  data: string,
  clock: Clock,
  log: Logger,
  cache?: SessionCacheSettings,
  isWatched = false,
): Promise<OpenedStore> {
  if (settings.kind === 'embedded') return openEmbeddedStore(data, clock, settings.timeout)
  const store = await openRedisStore(settings, clock, log)
  return cache === undefined ? store : trackRedisStore(store, createKeys(settings.prefix), cache, clock, log, isWatched)
}
