import t from 'tap'
import { startRedis, withoutRedis } from '../support/redis-server.ts'
import { storeContract } from './contract.ts'
import { openRedisUnderTest } from './redis-under-test.ts'

await t.test('the law of the stores, in a Redis', { skip: withoutRedis }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  await storeContract(t, 'redis', () => openRedisUnderTest({ url: server.url }))
})
