import { Cluster } from 'ioredis'
import { pino } from 'pino'
import { systemClock } from '../../src/clock.ts'
import type { Settings } from '../../src/config/schema/settings.ts'
import type { RedisClient } from '../../src/store/redis/connection/connections.ts'
import { openRedisStore } from '../../src/store/redis/redis.ts'
import type { StoreUnderTest } from './contract.ts'

const masters = (client: RedisClient) => (client instanceof Cluster ? client.nodes('master') : [client])

/**
 * KEYS[1] any key, ARGV[1] milliseconds: brings its end nearer, and the timestamps among the scores of an ordered set. In one
 * step, for the upkeep of the store writes to the same keys meanwhile.
 */
const BRING_NEARER = `
local left = redis.call('PTTL', KEYS[1])
if redis.call('TYPE', KEYS[1]).ok == 'zset' then
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], 1e12, 8e15)) do
    redis.call('ZINCRBY', KEYS[1], -ARGV[1], member)
  end
end
if left >= 0 then redis.call('PEXPIRE', KEYS[1], left - ARGV[1]) end`

/** A store on a Redis of the tests, emptied; its time is moved by bringing every key's end and timestamps nearer. */
export async function openRedisUnderTest(
  redis: NonNullable<Settings['store']['redis']>,
  { flush = true } = {},
): Promise<StoreUnderTest> {
  const settings = { kind: 'redis' as const, prefix: 'svc:auth', timeout: 5000, redis }
  const store = await openRedisStore(settings, systemClock, pino({ level: 'silent' }))
  if (flush) for (const node of masters(store.connections.store)) await node.flushall()
  return {
    store,
    clock: systemClock,
    began: systemClock.now(),
    announces: false,
    async fastForward(ms) {
      for (const node of masters(store.connections.store)) {
        await Promise.all((await node.keys('*')).map(key => node.eval(BRING_NEARER, 1, key, ms)))
      }
    },
    close: () => store.close(),
  }
}
