import { Redis } from 'ioredis'
import type { Clock } from '../../../clock.ts'
import type { SessionCacheSettings } from '../../../config/schema/settings.ts'
import type { Logger } from '../../../log.ts'
import { LOGIN_TYPES, SIDES } from '../../../session.ts'
import type { Store } from '../../store.ts'
import { RedisChanges } from '../changes.ts'
import type { RedisClient } from '../client.ts'
import type { Keys } from '../keys.ts'
import type { RedisStore } from '../redis.ts'
import { SessionCache } from './session-cache.ts'
import { type SessionCaches, TrackedSessions } from './tracked-sessions.ts'
import { RedisTracking } from './tracking.ts'

/**
 * A store in Redis that remembers the sessions of the sides that are to be tracked, and, where they are watched, tells what
 * becomes of those of both. In a Cluster every node announces its own keys only, and keys move between nodes: there the
 * store is answered as it is.
 */
export function trackRedisStore(
  store: RedisStore,
  keys: Keys,
  settings: SessionCacheSettings,
  clock: Clock,
  log: Logger,
  isWatched = false,
): Store & { readonly redis: RedisClient } {
  const { redis } = store
  const cached = LOGIN_TYPES.filter(type => settings[SIDES[type].name] === 'tracking')
  if ((cached.length === 0 && !isWatched) || !(redis instanceof Redis)) return store

  const caches = cached.map(type => ({
    type,
    prefix: keys.token(type, ''),
    listener: new SessionCache(clock, settings.max_entries),
  }))
  store.repeats.onEnded = key => {
    for (const { prefix, listener } of caches) if (key.startsWith(prefix)) listener.evict(key.slice(prefix.length))
  }
  const changes = new RedisChanges(clock)
  const tracking = new RedisTracking({
    main: redis,
    // The caches first: listeners of a change query the store, and must not get an old answer from a cache.
    listeners: isWatched ? [...caches, ...changes.listeners(keys)] : caches,
    purpose: cached.length > 0 ? 'cached' : 'watched',
    heartbeat: settings.heartbeat,
    clock,
    log,
  })
  const byType: SessionCaches = Object.fromEntries(caches.map(({ type, listener }) => [type, listener]))
  return {
    redis,
    changes,
    ...(store.isReplicated !== undefined && { isReplicated: store.isReplicated }),
    sessions: new TrackedSessions(store.sessions, byType),
    online: store.online,
    captchas: store.captchas,
    attempts: store.attempts,
    counts: () => ({ caches: Object.fromEntries(caches.map(({ type, listener }) => [type, listener.counts])) }),
    ping: () => store.ping(),
    warnings: () => store.warnings(),
    async close() {
      await tracking.close()
      await store.close()
    },
  }
}
