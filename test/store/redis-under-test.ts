import { Cluster } from 'ioredis'
import { pino } from 'pino'
import { systemClock } from '../../src/clock.ts'
import type { Settings } from '../../src/config/schema/settings.ts'
import type { RedisClient } from '../../src/store/redis/client.ts'
import { openRedisStore } from '../../src/store/redis/redis.ts'
import type { StoreUnderTest } from './contract.ts'

const masters = (client: RedisClient) => (client instanceof Cluster ? client.nodes('master') : [client])

/** KEYS[1] an ordered set, ARGV[1] milliseconds: brings the moments among its scores nearer. */
const BRING_NEARER = `
local members = redis.call('ZRANGEBYSCORE', KEYS[1], 1e12, 8e15)
for _, member in ipairs(members) do redis.call('ZINCRBY', KEYS[1], -ARGV[1], member) end`

/** A store on a Redis of the tests, emptied; its time is moved by bringing every key's end nearer, and every moment in one. */
export async function openRedisUnderTest(
  redis: NonNullable<Settings['store']['redis']>,
  { flush = true } = {},
): Promise<StoreUnderTest> {
  const settings = { kind: 'redis' as const, prefix: 'svc:auth', timeout: 5000, redis }
  const store = await openRedisStore(settings, systemClock, pino({ level: 'silent' }))
  if (flush) for (const node of masters(store.redis)) await node.flushall()
  return {
    store,
    clock: systemClock,
    announces: false,
    async fastForward(ms) {
      for (const node of masters(store.redis)) {
        for (const key of await node.keys('*')) {
          const left = await node.pttl(key)
          if (left >= 0) await node.pexpire(key, left - ms)
          if ((await node.type(key)) === 'zset') await node.eval(BRING_NEARER, 1, key, ms)
        }
      }
    },
    close: () => store.close(),
  }
}
