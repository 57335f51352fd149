import t from 'tap'
import { storeContract } from './contract.ts'
import { startRedis, withoutRedis } from './redis-server.ts'
import { openRedisUnderTest } from './redis-under-test.ts'

await t.test('the law of the stores, in a Redis', { skip: withoutRedis }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  await storeContract(t, 'redis', () => openRedisUnderTest({ url: server.url }))
})
