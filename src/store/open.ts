import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log/log.ts'
import type { Settings } from '../settings/schema/settings.ts'
import type { SessionCacheSettings } from '../settings/schema/store.ts'
import type { StoreForms } from './forms.ts'
import type { Store } from './store.ts'

/**
 * Opens the configured store; `data` is the folder of the embedded one. A store in Redis remembers sessions as `cache`
 * says; without it, it reads them every time. The embedded one remembers as many as `cache` says. `isWatched` says whether
 * changes will be listened to. Only the library of the configured store is loaded: each takes a tenth of a second.
 */
export async function openStore(
  settings: Settings['store'],
  data: string,
  clock: Clock,
  log: Logger,
  cache?: SessionCacheSettings,
  isWatched = false,
  forms: StoreForms = {},
): Promise<Store> {
  switch (settings.kind) {
    case 'embedded': {
      const { openEmbeddedStore } = await import('./embedded/embedded.ts').catch(explainMissing)
      return openEmbeddedStore(data, clock, settings.timeout, forms, cache?.max_entries, log)
    }
    case 'redis':
      return openRedis(settings, clock, log, cache, isWatched, forms)
  }
}

async function openRedis(
  settings: Settings['store'],
  clock: Clock,
  log: Logger,
  cache: SessionCacheSettings | undefined,
  isWatched: boolean,
  forms: StoreForms,
): Promise<Store> {
  const { openRedisStore } = await import('./redis/redis.ts')
  const store = await openRedisStore(settings, clock, log, forms)
  if (cache === undefined) return store
  const [{ createKeys }, { trackRedisStore }] = await Promise.all([
    import('./redis/commands/key-names.ts'),
    import('./redis/tracked-store.ts'),
  ])
  return trackRedisStore(store, createKeys(settings.prefix), cache, clock, log, isWatched)
}

/** The native part of LMDB is a package of its own for each platform, which an installation can leave out. */
function explainMissing(fault: Error): never {
  if (!fault.message.startsWith('No native build was found')) throw fault
  const name = `@lmdb/lmdb-${process.platform}-${process.arch}`
  throw new Error(
    `the embedded store needs the package ${name}, which is not installed; install again without --omit=optional, or set store.kind: redis`,
  )
}
