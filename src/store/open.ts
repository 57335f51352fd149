import type { Clock } from '../clock.ts'
import type { SessionCacheSettings, Settings } from '../config/schema/settings.ts'
import type { Logger } from '../log.ts'
import type { StoreForms } from './forms.ts'
import type { RedisClient } from './redis/client.ts'
import type { Store } from './store.ts'

/** A store, and the Redis connection below it when it is in Redis. */
export interface OpenedStore extends Store {
  readonly redis?: RedisClient
}

/**
 * Opens the configured store; `data` is the folder of the embedded one. A store in Redis remembers sessions as `cache`
 * says; without it, it asks every time. `isWatched` says whether anybody will want to be told of changes. Only the
 * library of the one that is configured is loaded: each takes a tenth of a second.
 */
export async function openStore(
  settings: Settings['store'],
  data: string,
  clock: Clock,
  log: Logger,
  cache?: SessionCacheSettings,
  isWatched = false,
  forms: StoreForms = {},
): Promise<OpenedStore> {
  if (settings.kind === 'embedded') {
    const { openEmbeddedStore } = await import('./embedded/embedded.ts')
    return openEmbeddedStore(data, clock, settings.timeout, forms)
  }
  const { openRedisStore } = await import('./redis/redis.ts')
  const store = await openRedisStore(settings, clock, log, forms)
  if (cache === undefined) return store
  const [{ createKeys }, { trackRedisStore }] = await Promise.all([
    import('./redis/keys.ts'),
    import('./redis/tracking/tracked-store.ts'),
  ])
  return trackRedisStore(store, createKeys(settings.prefix), cache, clock, log, isWatched)
}
