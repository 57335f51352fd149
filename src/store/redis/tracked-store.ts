import { Cluster, type Redis } from 'ioredis'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import type { SessionRecord } from '../../session/record.ts'
import { LOGIN_TYPES, type LoginType, SIDES } from '../../session/sides.ts'
import type { SessionCacheSettings } from '../../settings/schema/store.ts'
import type { Credential } from '../credentials.ts'
import type { Disable } from '../remembered-values.ts'
import type { Store } from '../store.ts'
import type { Keys } from './commands/key-names.ts'
import type { RedisStore } from './redis.ts'
import { type RememberableReads, rememberableReads } from './rememberable.ts'
import { Announcer } from './tracking/announcer.ts'
import { RedisChanges } from './tracking/changes.ts'
import { type KeyListener, RedisTracking, type TrackingOptions } from './tracking/heartbeat.ts'
import { Masters } from './tracking/masters.ts'
import { TrackedCache } from './tracking/tracked-cache.ts'
import { TrackedCredentials } from './tracking/tracked-credentials.ts'
import { TrackedSessions } from './tracking/tracked-sessions.ts'

/**
 * A store in Redis that remembers the sessions, credentials and disabled login ids of the sides that are to be tracked, and,
 * where they are watched, announces the changes of both.
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

  const caches = Object.fromEntries(cached.map(type => [type, createCaches(clock, settings.max_entries)]))
  const listeners = cached.flatMap(type => listenersOf(caches[type]!, type, keys))
  store.repeats.onReceived = key => {
    for (const { prefix, listener } of listeners) if (key.startsWith(prefix)) listener.evict(key.slice(prefix.length))
  }
  const changes = new RedisChanges(clock)
  const { open, reads } = announcementsOf(store)
  const tracking = new RedisTracking({
    open,
    // The caches first: listeners of a change query the store, and must not get an old answer from a cache.
    listeners: isWatched ? [...listeners, ...changes.listeners(keys)] : listeners,
    purpose: cached.length > 0 ? 'cached' : 'watched',
    heartbeat: settings.heartbeat,
    clock,
    log,
  })
  return {
    connections: store.connections,
    changes,
    ...(store.isReplicated !== undefined && { isReplicated: store.isReplicated }),
    counts: () => ({ caches: Object.fromEntries(cached.map(type => [type, caches[type]!.sessions.counts])) }),
    sessions: new TrackedSessions(store.sessions, caches, reads),
    credentials: new TrackedCredentials(store.credentials, caches, reads.credential),
    factors: store.factors,
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

/** What is remembered of one side. */
interface SideCaches {
  sessions: TrackedCache<SessionRecord>
  credentials: TrackedCache<Credential>
  disables: TrackedCache<Disable>
}

const createCaches = (clock: Clock, maxEntries: number): SideCaches => ({
  sessions: new TrackedCache(clock, maxEntries, ({ user_id }) => user_id),
  credentials: new TrackedCache(clock, maxEntries, ({ owner }) => owner),
  disables: new TrackedCache(clock, maxEntries, ({ userId }) => userId),
})

/** The caches of a side, each with the prefix of its keys. */
const listenersOf = (
  { sessions, credentials, disables }: SideCaches,
  type: LoginType,
  keys: Keys,
): { prefix: string; listener: KeyListener }[] => [
  { prefix: keys.token(type, ''), listener: sessions },
  { prefix: keys.credential(type, ''), listener: credentials },
  { prefix: keys.disable(type, ''), listener: disables },
]

/** How the servers of a store announce changes, and by which reads its values may be remembered. */
function announcementsOf(store: RedisStore): {
  open: TrackingOptions['open']
  reads: RememberableReads
} {
  const { connections, sessions, credentials } = store
  const main = connections.store
  if (!(main instanceof Cluster)) {
    return {
      open: (prefixes, listener) =>
        new Announcer({ main, line: connections.open('tracking') as Redis, prefixes, listener }),
      reads: rememberableReads(sessions, credentials),
    }
  }
  let masters: Masters
  return {
    open(prefixes, listener) {
      masters = new Masters({ cluster: main, openLine: node => connections.openTo(node), prefixes, listener })
      return masters
    },
    reads: store.readsBy({ get: key => masters.get(key), pttl: key => masters.pttl(key) }),
  }
}
