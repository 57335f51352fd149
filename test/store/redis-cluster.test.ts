import type { Cluster } from 'ioredis'
import t from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log/log.ts'
import { createKeys } from '../../src/store/redis/commands/key-names.ts'
import { openRedisStore } from '../../src/store/redis/redis.ts'
import { slotOf } from '../../src/store/redis/tracking/slots.ts'
import { moveSlot, startCluster } from '../support/redis-cluster.ts'
import { withoutRedisServer } from '../support/redis-server.ts'
import { PATIENCE } from '../support/until.ts'
import { storeContract } from './contract.ts'
import { freshToken, MINUTE, record } from './contract-fixture.ts'
import { openRedisUnderTest } from './redis-under-test.ts'

await t.test('the law of the stores, in a Cluster of three masters', { skip: withoutRedisServer }, async t => {
  const cluster = await startCluster(PATIENCE)
  t.teardown(() => cluster.stop())
  await storeContract(t, 'cluster', () => openRedisUnderTest({ cluster: cluster.nodes }))
})

await t.test('while a slot moves, reads and writes of one turn are answered', { skip: withoutRedisServer }, async t => {
  const setup = await startCluster(PATIENCE)
  t.teardown(() => setup.stop())
  const redis = { cluster: setup.nodes }
  const store = await openRedisStore(
    { kind: 'redis', prefix: 'svc:auth', timeout: PATIENCE, redis },
    systemClock,
    createLog('silent'),
  )
  t.teardown(() => store.close())
  const cluster = store.connections.store as Cluster
  const slotOfToken = (token: string): number => slotOf(createKeys('svc:auth').token('CONSUMER', token))
  const add = (token: string) =>
    store.sessions.add('CONSUMER', token, record('CONSUMER', '1'), systemClock.now() + 10 * MINUTE)
  const token = freshToken()
  await add(token)
  const owner = cluster.slots[slotOfToken(token)]![0]!
  const [from, to] = [Number(owner.split(':')[1]), setup.nodes.find(({ port }) => !owner.endsWith(`:${port}`))!.port]

  /** The read is refused for its slot; the write, in the same pipeline, is not. */
  const readBesideWrite = async (): Promise<void> => {
    let other = freshToken()
    while (cluster.slots[slotOfToken(other)]![0] !== owner || slotOfToken(other) === slotOfToken(token))
      other = freshToken()
    const [found] = await Promise.all([store.sessions.find('CONSUMER', token), add(other)])
    t.match(found, { user_id: '1' })
  }
  await moveSlot(slotOfToken(token), from, to, async () => {
    for (let i = 0; i < 5; i++) await readBesideWrite()
    t.match(await store.sessions.find('CONSUMER', token), { user_id: '1' })
  })
  for (let i = 0; i < 5; i++) await readBesideWrite()
})
