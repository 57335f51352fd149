import { Cluster } from 'ioredis'
import type { Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log/log.ts'
import { writeRecord } from '../../src/session/record.ts'
import type { LoginType } from '../../src/session/sides.ts'
import type { Settings } from '../../src/settings/schema/settings.ts'
import type { SessionCacheSettings } from '../../src/settings/schema/store.ts'
import { createKeys } from '../../src/store/redis/commands/key-names.ts'
import type { RedisClient } from '../../src/store/redis/connection/client.ts'
import { openRedisStore, type RedisStore } from '../../src/store/redis/redis.ts'
import { trackRedisStore } from '../../src/store/redis/tracked-store.ts'
import { slotOf } from '../../src/store/redis/tracking/slots.ts'
import type { Store } from '../../src/store/store.ts'
import { PATIENCE, until } from '../support/until.ts'
import { storeContract } from './contract.ts'
import { freshToken, MINUTE, record } from './contract-fixture.ts'
import { openRedisUnderTest } from './redis-under-test.ts'

export const PREFIX = 'svc:auth'
export const keys = createKeys(PREFIX)
export const TRACKING: SessionCacheSettings = {
  business: 'tracking',
  consumer: 'tracking',
  heartbeat: 1000,
  max_entries: 100_000,
}

/** What is remembered must not end with a stall of this process. */
export const LASTING = { heartbeat: MINUTE }

/** A store in Redis, and its connections. */
export type ConnectedStore = Store & Pick<RedisStore, 'connections'>

export interface Tracked {
  store: ConnectedStore
  /** What it wrote, line by line. */
  log: { level: number; msg: string }[]
}

/** `store.timeout` of tests in which Redis does not answer, in milliseconds. */
export const IMPATIENCE = 2000

/** A gateway's store on a Redis of the tests, remembering both sides; closed when the test ends. */
export async function openTracked(
  t: Pick<Test, 'teardown'>,
  redis: NonNullable<Settings['store']['redis']>,
  cache: Partial<SessionCacheSettings> = {},
  timeout = PATIENCE,
): Promise<Tracked> {
  const log: Tracked['log'] = []
  const logger = createLog('trace', { write: line => void log.push(JSON.parse(line)) })
  const settings = { kind: 'redis' as const, prefix: PREFIX, timeout, redis }
  const opened = await openRedisStore(settings, systemClock, logger)
  const store = trackRedisStore(opened, keys, { ...TRACKING, ...cache }, systemClock, logger)
  t.teardown(() => store.close())
  return { store, log }
}

/** The contract suite on a store that remembers both sides. `loseChanges` cuts the connections that announce. */
export async function trackedContract(
  t: Test,
  name: string,
  redis: Parameters<typeof openRedisUnderTest>[0],
  loseChanges: () => Promise<void>,
): Promise<void> {
  await storeContract(t, name, async () => {
    const fixture = await openRedisUnderTest(redis)
    const store = trackRedisStore(fixture.store as RedisStore, keys, TRACKING, systemClock, createLog('silent'), true)
    await untilAnnounced(store)
    return {
      store,
      clock: fixture.clock,
      began: fixture.began,
      announces: true,
      loseChanges,
      async fastForward(ms) {
        await fixture.fastForward(ms)
        await untilAnnounced(store)
      },
      close: () => store.close(),
    }
  })
}

/** Whether a token is answered without a question to Redis. */
export const isRemembered = ({ sessions }: Store, token: string, type: LoginType = 'CONSUMER'): boolean =>
  isAtOnce(sessions.find(type, token))

/** Whether a credential of a consumer is answered without a question to Redis. */
export const isKeyRemembered = (store: Store, id: string, type: LoginType = 'CONSUMER'): boolean =>
  isAtOnce(store.credentials.find(type, id))

/** Whether it is known without a question whether a consumer is disabled. */
export const isDisableKnown = (store: Store, userId: string, type: LoginType = 'CONSUMER'): boolean =>
  isAtOnce(store.sessions.rememberedDisable(type, userId))

function isAtOnce(answer: unknown): boolean {
  if (!(answer instanceof Promise)) return true
  // Such an answer is not awaited.
  answer.catch(() => undefined)
  return false
}

/**
 * Queries in every turn until Redis has to be queried; returns when the last query began that was answered from memory. A stall
 * between a query and a look at the clock does not count.
 */
export async function lastServed(store: Store, token: string): Promise<number> {
  for (let last = 0; ; ) {
    const at = Date.now()
    if (!isRemembered(store, token)) return last
    last = at
    await new Promise(resolve => setImmediate(resolve))
  }
}

/** Logs a consumer in and resolves when the store remembers it. */
export async function remember(store: Store, userId = '1', lifetime = 10 * MINUTE): Promise<string> {
  const token = freshToken()
  await store.sessions.add('CONSUMER', token, record('CONSUMER', userId), Date.now() + lifetime)
  await untilRemembered(store, token)
  return token
}

export async function untilRemembered(store: Store, token: string): Promise<void> {
  await until(async () => {
    const found = store.sessions.find('CONSUMER', token)
    if (!(found instanceof Promise)) return true
    await found.catch(() => null)
    return false
  })
}

/** Resolves when every change that was made before has been announced to the store. */
export async function untilAnnounced(store: ConnectedStore): Promise<void> {
  const { store: redis } = store.connections
  for (const marker of markersOf(redis)) {
    const key = keys.token('CONSUMER', marker)
    // A Cluster is ready before it has reached each of its masters.
    const isStored = (): Promise<boolean> =>
      redis.set(key, writeRecord(record('CONSUMER', 'marker')), 'PX', MINUTE).then(
        () => true,
        () => false,
      )
    await until(isStored)
    await untilRemembered(store, marker)
    await redis.unlink(key)
    await until(() => !isRemembered(store, marker))
  }
}

/** A new token; in a Cluster one for each master. */
function markersOf(redis: RedisClient): string[] {
  if (!(redis instanceof Cluster)) return [freshToken()]
  const markers = new Map<string, string>()
  while (markers.size < redis.nodes('master').length) {
    const token = freshToken()
    markers.set(redis.slots[slotOf(keys.token('CONSUMER', token))]![0]!, token)
  }
  return [...markers.values()]
}
