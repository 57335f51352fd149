import { Cluster, type Redis } from 'ioredis'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import { LOGIN_TYPES, SIDES } from '../../session/sides.ts'
import type { SessionCacheSettings } from '../../settings/schema/store.ts'
import type { Store } from '../store.ts'
import type { Keys } from './commands/keys.ts'
import type { RedisStore } from './redis.ts'
import type { ReadableSessions } from './sessions/sessions.ts'
import { Announcer } from './tracking/announcer.ts'
import { RedisChanges } from './tracking/changes.ts'
import { Masters } from './tracking/masters.ts'
import { SessionCache } from './tracking/session-cache.ts'
import { TrackedSessions } from './tracking/tracked-sessions.ts'
import { RedisTracking, type TrackingOptions } from './tracking/tracking.ts'

/**
 * A store in Redis that remembers the sessions of the sides that are to be tracked, and, where they are watched, announces
 * the changes of both.
 */
export function trackRedisStore(
  store: RedisStore,
  keys: Keys,
  settings: SessionCacheSettings,
  clock: Clock,
  log: Logger,
  isWatched = false,
): Store & Pick<RedisStore, 'connections'> {
  const cached = LOGIN_TYPES.filter(type => settings[SIDES[type].name] === 'tracking')
  if (cached.length === 0 && !isWatched) return store

  const caches = cached.map(type => ({
    type,
    prefix: keys.token(type, ''),
    listener: new SessionCache(clock, settings.max_entries),
  }))
  store.repeats.onEnded = key => {
    for (const { prefix, listener } of caches) if (key.startsWith(prefix)) listener.evict(key.slice(prefix.length))
  }
  const changes = new RedisChanges(clock)
  const { open, read } = announcementsOf(store)
  const tracking = new RedisTracking({
    open,
    // The caches first: listeners of a change query the store, and must not get an old answer from a cache.
    listeners: isWatched ? [...caches, ...changes.listeners(keys)] : caches,
    purpose: cached.length > 0 ? 'cached' : 'watched',
    heartbeat: settings.heartbeat,
    clock,
    log,
  })
  const byType = Object.fromEntries(caches.map(({ type, listener }) => [type, listener]))
  return {
    connections: store.connections,
    changes,
    ...(store.isReplicated !== undefined && { isReplicated: store.isReplicated }),
    counts: () => ({ caches: Object.fromEntries(caches.map(({ type, listener }) => [type, listener.counts])) }),
    sessions: new TrackedSessions(store.sessions, byType, read),
    online: store.online,
    captchas: store.captchas,
    tickets: store.tickets,
    attempts: store.attempts,
    journal: store.journal,
    ping: () => store.ping(),
    warnings: () => store.warnings(),
    async close() {
      tracking.close()
      await store.close()
    },
  }
}

/** How the servers of a store announce changes, and by which reads a session may be remembered. */
function announcementsOf(store: RedisStore): {
  open: TrackingOptions['open']
  read: ReadableSessions['read']
} {
  const { connections, sessions } = store
  const main = connections.store
  if (!(main instanceof Cluster)) {
    return {
      open: (prefixes, listener) =>
        new Announcer({ main, line: connections.open('tracking') as Redis, prefixes, listener }),
      read: (type, token) => sessions.read(type, token),
    }
  }
  let masters: Masters
  return {
    open(prefixes, listener) {
      masters = new Masters({ cluster: main, openLine: node => connections.openTo(node), prefixes, listener })
      return masters
    },
    read: store.readBy({ get: key => masters.get(key), pttl: key => masters.pttl(key) }),
  }
}
