import { Cluster } from 'ioredis'
import { pino } from 'pino'
import { systemClock } from '../../src/base/clock.ts'
import { LOGIN_TYPES } from '../../src/session/sides.ts'
import type { Settings } from '../../src/settings/schema/settings.ts'
import { createKeys } from '../../src/store/redis/commands/key-names.ts'
import type { RedisClient } from '../../src/store/redis/connection/client.ts'
import { openRedisStore } from '../../src/store/redis/redis.ts'
import { PATIENCE } from '../support/until.ts'
import type { StoreUnderTest } from './contract.ts'

const keys = createKeys('svc:auth')

const masters = (client: RedisClient) => (client instanceof Cluster ? client.nodes('master') : [client])

/**
 * ARGV[1] milliseconds: brings the ends of all keys of a server nearer, and the timestamps among the scores of ordered sets. In
 * one step, for the upkeep of the store writes to the same keys meanwhile.
 */
const BRING_NEARER = `
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if redis.call('TYPE', key).ok == 'zset' then
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', key, 1e12, 8e15)) do
      redis.call('ZINCRBY', key, -ARGV[1], member)
    end
  end
  if left >= 0 then redis.call('PEXPIRE', key, left - ARGV[1]) end
end`

/** A store on a Redis of the tests, emptied; its time is moved by bringing every key's end and timestamps nearer. */
export async function openRedisUnderTest(
  redis: NonNullable<Settings['store']['redis']>,
  { flush = true } = {},
): Promise<StoreUnderTest> {
  const settings = { kind: 'redis' as const, prefix: 'svc:auth', timeout: PATIENCE, redis }
  const store = await openRedisStore(settings, systemClock, pino({ level: 'silent' }))
  if (flush) for (const node of masters(store.connections.store)) await node.flushall()
  return {
    store,
    clock: systemClock,
    began: systemClock.now(),
    announces: false,
    async fastForward(ms) {
      // A change is answered before the online keys have it; an end written later would not be brought nearer. Nor may a round
      // compare what one server has already with what another one has not.
      for (const type of LOGIN_TYPES)
        await store.connections.store.hset(keys.online(type, 'upkeep'), 'at', systemClock.now())
      await store.settled()
      for (const node of masters(store.connections.store)) await node.eval(BRING_NEARER, 0, ms)
    },
    close: () => store.close(),
  }
}
