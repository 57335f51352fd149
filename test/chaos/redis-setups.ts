import { moveSlot, startCluster } from '../support/redis-cluster.ts'
import { startSentinels } from '../support/redis-sentinel.ts'
import { endProcess, redisCommand, startRedis } from '../support/redis-server.ts'
import { eventually, type Setup } from './setup.ts'

const TIMEOUT = '500ms'
/** What a replica misses before its master dies, in milliseconds. */
const LAG = 700

const JOURNAL = 'svc:auth:events'
const JOURNAL_ASIDE = `${JOURNAL}-aside`

/** Keys that nothing ends (P6). */
async function endlessKeys(ports: readonly number[]): Promise<string[]> {
  const found: string[] = []
  for (const port of ports) {
    const keys = (await redisCommand(port, 'KEYS', '*')).split('\n').filter(key => key !== '')
    for (const key of keys) {
      if ((await redisCommand(port, 'PTTL', key)) === '-1') found.push(`the key ${key} has no lifetime`)
    }
  }
  return found
}

export async function singleRedis(): Promise<Setup> {
  const redis = await startRedis()
  return {
    name: 'one Redis',
    store: { kind: 'redis', timeout: TIMEOUT, redis: { url: redis.url } },
    mishaps: [
      {
        name: 'Redis stands still',
        loses: 'nothing',
        lasts: 1500,
        begin: () => redis.pause(),
        end: () => redis.resume(),
      },
      {
        // Redis refuses every entry: what has the name of the journal is a text.
        name: 'the journal cannot be written',
        loses: 'nothing',
        harmless: true,
        lasts: 2500,
        begin: async () => {
          await redis.cli('RENAME', JOURNAL, JOURNAL_ASIDE)
          await redis.cli('SET', JOURNAL, 'not a journal', 'PX', '60000')
        },
        end: async () => void (await redis.cli('RENAME', JOURNAL_ASIDE, JOURNAL)),
      },
      {
        name: 'all connections to Redis are cut',
        loses: 'nothing',
        lasts: 0,
        begin: async () => {
          await redis.cli('CLIENT', 'KILL', 'TYPE', 'normal').catch(() => {})
          await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub').catch(() => {})
        },
        end: () => {},
      },
      {
        name: 'the memory of Redis is full',
        loses: 'nothing',
        lasts: 1500,
        begin: async () => void (await redis.cli('CONFIG', 'SET', 'maxmemory', '1')),
        end: async () => void (await redis.cli('CONFIG', 'SET', 'maxmemory', '0')),
      },
      {
        name: 'Redis is killed and comes back empty',
        loses: 'everything',
        lasts: 1000,
        begin: () => redis.kill(),
        end: () => redis.restart(),
      },
    ],
    inspect: () => endlessKeys([redis.port]),
    stop: () => redis.stop(),
  }
}

export async function sentinelRedis(): Promise<Setup> {
  const setup = await startSentinels()
  const { sentinels, name } = setup
  /** As they were when the present fault began. */
  let { master, replica } = await setup.pair()
  return {
    name: 'Redis with Sentinels',
    store: { kind: 'redis', timeout: TIMEOUT, redis: { sentinels, name } },
    mishaps: [
      {
        name: 'the replica is cut off from its master',
        loses: 'nothing',
        lasts: 1500,
        begin: async () => {
          ;({ master, replica } = await setup.pair())
          replica.child.kill('SIGSTOP')
        },
        end: () => void replica.child.kill('SIGCONT'),
      },
      {
        name: 'the master stands still until another is elected, and comes back',
        loses: 'recent',
        lasts: 0,
        begin: async () => {
          ;({ master, replica } = await setup.pair())
          master.child.kill('SIGSTOP')
          await setup.promoted(replica.port)
        },
        // Until the Sentinels tell it, it takes itself for the master still, and what it confirms is lost.
        async end() {
          master.child.kill('SIGCONT')
          await eventually('the old master as a replica', async () =>
            (await redisCommand(master.port, 'ROLE')).startsWith('slave'),
          )
        },
      },
    ],
    failover: {
      name: 'a master dies whose replica lags',
      loses: 'recent',
      lasts: 0,
      begin: () => setup.failover(LAG),
      end: () => setup.rejoin(),
    },
    inspect: async () => endlessKeys([(await setup.pair()).master.port]),
    stop: () => setup.stop(),
  }
}

/** Three masters with a replica each. */
export async function clusterRedis(): Promise<Setup> {
  const cluster = await startCluster()
  await cluster.addReplicas()
  /** As they were when the present fault began. */
  let { master, replica } = await cluster.shard(0)
  return {
    name: 'a Redis Cluster of 3 + 3',
    store: { kind: 'redis', timeout: TIMEOUT, redis: { cluster: cluster.nodes } },
    mishaps: [
      {
        name: 'a replica is cut off from its master',
        loses: 'nothing',
        lasts: 1500,
        begin: async () => {
          ;({ replica } = await cluster.shard(1))
          replica.child.kill('SIGSTOP')
        },
        end: () => void replica.child.kill('SIGCONT'),
      },
      {
        name: 'slots move to another master',
        loses: 'nothing',
        lasts: 0,
        begin: async () => {
          const [from, to] = [(await cluster.shard(1)).master.port, (await cluster.shard(2)).master.port]
          for (const slot of await fullSlots(from)) await moveSlot(slot, from, to)
        },
        end: () => {},
      },
      {
        name: 'a master stands still',
        loses: 'nothing',
        lasts: 1500,
        begin: async () => {
          ;({ master } = await cluster.shard(2))
          master.child.kill('SIGSTOP')
        },
        end: () => void master.child.kill('SIGCONT'),
      },
      {
        name: 'a master is killed, its replica takes over, and it comes back as a replica',
        loses: 'recent',
        lasts: 0,
        begin: async () => {
          ;({ master, replica } = await cluster.shard(0))
          await endProcess(master.child)
          const others = await Promise.all([1, 2].map(async i => (await cluster.shard(i)).master.port))
          await eventually('a cluster that is whole', async () => {
            const role = await redisCommand(replica.port, 'ROLE')
            const states = await Promise.all(others.map(port => redisCommand(port, 'CLUSTER', 'INFO')))
            return role.startsWith('master') && states.every(state => state.includes('cluster_state:ok'))
          })
        },
        async end() {
          await cluster.restart(master.port)
          await cluster.shard(0)
        },
      },
    ],
    async inspect() {
      const masters = await Promise.all([0, 1, 2].map(async i => (await cluster.shard(i)).master.port))
      return endlessKeys(masters)
    },
    stop: () => cluster.stop(),
  }
}

/** Slots of a master that have keys, some of them. */
async function fullSlots(port: number): Promise<number[]> {
  const keys = (await redisCommand(port, 'KEYS', '*')).split('\n').filter(Boolean).slice(0, 50)
  return [
    ...new Set(await Promise.all(keys.map(async key => Number(await redisCommand(port, 'CLUSTER', 'KEYSLOT', key))))),
  ]
}
