import { Cluster } from 'ioredis'
import t from 'tap'
import { openRedisUnderTest } from '../store/redis-under-test.ts'
import { startCluster } from '../support/redis-cluster.ts'
import { withoutRedisServer } from '../support/redis-server.ts'
import { PATIENCE } from '../support/until.ts'
import { eventually } from './other-program.ts'

t.test('in a Cluster, sessions of another program are found on every node', { skip: withoutRedisServer }, async t => {
  const cluster = await startCluster(PATIENCE)
  t.teardown(() => cluster.stop())
  const { store, close } = await openRedisUnderTest({ cluster: cluster.nodes })
  const other = new Cluster(cluster.nodes)
  t.teardown(async () => {
    other.disconnect()
    await close()
  })
  const users = Array.from({ length: 60 }, (_, i) => `user-${i}`)
  for (const user of users) {
    const record = { user_id: user, type: 'CONSUMER', created_at: '2026-01-02T03:04:05+00:00', extra: {} }
    await other.set(`svc:auth:CONSUMER:token:x.${user}.z`, JSON.stringify(record), 'EX', 3600)
    await other.sadd(`svc:auth:CONSUMER:session:${user}`, `x.${user}.z`)
  }
  const tally = async () => Object.values(await store.online.tally('CONSUMER'))
  t.same(await eventually(tally, [60, 60, 1]), [60, 60, 1])
  await other.del('svc:auth:CONSUMER:token:x.user-7.z')
  t.same(await eventually(tally, [59, 59, 1]), [59, 59, 1])
})
