import type { Cluster } from 'ioredis'
import { pino } from 'pino'
import t from 'tap'
import { connect } from '../../src/store/redis/connection/connections.ts'
import { freePort } from '../support/ports.ts'
import { startCluster } from '../support/redis-cluster.ts'
import { endProcess, spawnRedis, startRedis, withoutRedisServer } from '../support/redis-server.ts'
import { PATIENCE, until } from '../support/until.ts'

const log = pino({ level: 'silent' })

/** How many connections a server has, beside the one that counts them. */
const clientsOf = async (server: { cli(...args: string[]): Promise<string> }): Promise<number> =>
  (await server.cli('CLIENT', 'LIST', 'TYPE', 'normal')).trim().split('\n').length - 1

t.test('all connections of a store end when they are closed, twice too', { skip: withoutRedisServer }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  const before = await clientsOf(server)
  const connections = await connect({ url: server.url }, PATIENCE, log)
  const opened = [connections.store, connections.open('journal'), connections.open('proof')]
  await until(() => opened.every(({ status }) => status === 'ready'))
  t.equal(await clientsOf(server), before + opened.length)
  t.throws(() => connections.open('proof'), /already been registered/, 'each has a name of its own')
  await connections.close()
  await connections.close()
  await until(async () => (await clientsOf(server)) === before)
  t.same(
    opened.map(({ status }) => status),
    ['end', 'end', 'end'],
  )
})

t.test(
  'a Redis whose name cannot be resolved at the start is tried again until it answers',
  { skip: withoutRedisServer },
  async t => {
    const port = await freePort()
    const connections = await connect({ url: `redis://127.0.0.1:${port}` }, PATIENCE, log)
    t.teardown(() => connections.close())
    const line = connections.open('journal')
    const fault = Object.assign(new Error('getaddrinfo ENOTFOUND redis'), { code: 'ENOTFOUND' })
    for (const client of [connections.store, line]) client.emit('error', fault)
    const redis = await spawnRedis(port, t.testdir())
    t.teardown(() => endProcess(redis))
    await until(() => connections.store.status === 'ready' && line.status === 'ready')
    t.equal(await connections.store.get('anything'), null)
  },
)

t.test('connections are closed at once while Redis is away', { skip: withoutRedisServer }, async t => {
  const connections = await connect({ url: `redis://127.0.0.1:${await freePort()}` }, PATIENCE, log)
  connections.open('journal')
  await t.resolves(connections.close())
})

t.test(
  'a client of a Cluster that is closed while it refreshes its slots ends',
  { skip: withoutRedisServer },
  async t => {
    const cluster = await startCluster(PATIENCE)
    t.teardown(() => cluster.stop())
    const connections = await connect({ cluster: cluster.nodes }, PATIENCE, log)
    const client = connections.store as Cluster
    client.options.slotsRefreshInterval = 5
    const refresh = client.refreshSlotsCache.bind(client)
    let refreshes = 0
    await new Promise<void>(resolve => {
      client.refreshSlotsCache = callback => {
        refreshes++
        refresh(callback)
        resolve()
      }
    })
    refreshes = 0
    await connections.close()
    for (let i = 0; i < 20; i++) await new Promise(resolve => setTimeout(resolve, 5))
    t.equal(refreshes, 0)
  },
)
