import t from 'tap'
import { freshToken, MINUTE, record } from './contract-world.ts'
import { startCluster } from './redis-cluster.ts'
import { startSentinels } from './redis-sentinel.ts'
import { redisCommand, withoutRedisServer } from './redis-server.ts'
import { isRemembered, keys, openTracked, remember, until, untilHeard, untilRemembered } from './tracking-world.ts'

await t.test('a store behind Sentinels', { skip: withoutRedisServer }, async t => {
  const setup = await startSentinels()
  t.teardown(() => setup.stop())

  await t.test('hears of the ends of sessions from the master that took over', async t => {
    const { sentinels, name } = setup
    const { store } = await openTracked(t, { sentinels, name })
    const token = await remember(store)
    // The replica has it too before it takes over.
    await until(async () => (await redisCommand(setup.replicaPort, 'EXISTS', keys.token('CONSUMER', token))) === '1')
    setup.master.kill('SIGKILL')
    await until(() => !isRemembered(store, token))
    await setup.promoted()
    await untilRemembered(store, token)
    await redisCommand(setup.replicaPort, 'DEL', keys.token('CONSUMER', token))
    await untilHeard(store)
    t.equal(isRemembered(store, token), false)
    t.equal(await store.sessions.find('CONSUMER', token), null)
    t.equal(isRemembered(store, await remember(store)), true)
  })
})

await t.test('a store in a Cluster asks on every request', { skip: withoutRedisServer }, async t => {
  const cluster = await startCluster()
  t.teardown(() => cluster.stop())
  const { store } = await openTracked(t, { cluster: cluster.nodes })
  const token = freshToken()
  await store.sessions.add('CONSUMER', token, record('CONSUMER', '1'), Date.now() + MINUTE)
  for (let i = 0; i < 3; i++) t.match(await store.sessions.find('CONSUMER', token), { user_id: '1' })
  t.equal(isRemembered(store, token), false)
})
