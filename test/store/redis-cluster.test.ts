import t from 'tap'
import { startCluster } from '../support/redis-cluster.ts'
import { withoutRedisServer } from '../support/redis-server.ts'
import { storeContract } from './contract.ts'
import { openRedisUnderTest } from './redis-under-test.ts'

await t.test('the law of the stores, in a Cluster of three masters', { skip: withoutRedisServer }, async t => {
  const cluster = await startCluster()
  t.teardown(() => cluster.stop())
  await storeContract(t, 'cluster', () => openRedisUnderTest({ cluster: cluster.nodes }))
})
