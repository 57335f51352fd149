import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../support/ports.ts'
import { type RedisCluster, startCluster } from '../support/redis-cluster.ts'
import { startSentinels } from '../support/redis-sentinel.ts'
import { endProcess, redisCommand, spawnRedis, startRedis } from '../support/redis-server.ts'
import { eventually, type Setup } from './setup.ts'

const TIMEOUT = '500ms'
/** What a replica misses before its master dies, in milliseconds. */
const LAG = 700

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
  const { sentinels, name, master, masterPort, replicaPort } = setup
  return {
    name: 'Redis with Sentinels',
    store: { kind: 'redis', timeout: TIMEOUT, redis: { sentinels, name } },
    mishaps: [
      {
        name: 'the replica is cut off from its master',
        loses: 'nothing',
        lasts: 1500,
        begin: () => void setup.replica.kill('SIGSTOP'),
        end: () => void setup.replica.kill('SIGCONT'),
      },
      {
        name: 'the master stands still until another is elected, and comes back',
        loses: 'recent',
        lasts: 0,
        begin: async () => {
          await eventually('a replica that follows', async () =>
            (await redisCommand(replicaPort, 'INFO', 'replication')).includes('link_status:up'),
          )
          master.kill('SIGSTOP')
          await setup.promoted()
        },
        // Until the Sentinels tell it, it takes itself for the master still, and what it confirms is lost.
        async end() {
          master.kill('SIGCONT')
          await eventually('the old master as a replica', async () =>
            (await redisCommand(masterPort, 'ROLE')).startsWith('slave'),
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
    inspect: () => endlessKeys([replicaPort]),
    stop: () => setup.stop(),
  }
}

/** Three masters with a replica each. */
export async function clusterRedis(): Promise<Setup> {
  const cluster = await startCluster()
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-replicas-'))
  const replicas = await addReplicas(cluster, folder)
  const portOf = (i: number): number => cluster.nodes[i]!.port
  return {
    name: 'a Redis Cluster of 3 + 3',
    store: { kind: 'redis', timeout: TIMEOUT, redis: { cluster: cluster.nodes } },
    mishaps: [
      {
        name: 'a replica is cut off from its master',
        loses: 'nothing',
        lasts: 1500,
        begin: () => void replicas[1]!.child.kill('SIGSTOP'),
        end: () => void replicas[1]!.child.kill('SIGCONT'),
      },
      {
        name: 'a master is killed, and its replica takes over',
        loses: 'recent',
        lasts: 0,
        begin: async () => {
          await endProcess(cluster.masters[0]!)
          await eventually('a cluster that is whole', async () => {
            const role = await redisCommand(replicas[0]!.port, 'ROLE')
            const states = await Promise.all([1, 2].map(i => redisCommand(portOf(i), 'CLUSTER', 'INFO')))
            return role.startsWith('master') && states.every(state => state.includes('cluster_state:ok'))
          })
        },
        end: () => {},
      },
    ],
    inspect: () => endlessKeys([replicas[0]!.port, portOf(1), portOf(2)]),
    async stop() {
      await Promise.all(replicas.map(({ child }) => endProcess(child)))
      await cluster.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

interface Replica {
  port: number
  child: ChildProcess
}

async function addReplicas(cluster: RedisCluster, folder: string): Promise<Replica[]> {
  const replicas: Replica[] = []
  for (const { port: masterPort } of cluster.nodes) {
    const [port, bus] = [await freePort(), await freePort()]
    const args = ['--cluster-enabled', 'yes', '--cluster-config-file', `nodes-${port}.conf`]
    const child = await spawnRedis(port, folder, [
      ...args,
      '--cluster-port',
      String(bus),
      '--cluster-node-timeout',
      '2000',
    ])
    const id = await redisCommand(masterPort, 'CLUSTER', 'MYID')
    await redisCommand(masterPort, 'CLUSTER', 'MEET', '127.0.0.1', String(port), String(bus))
    // It has to have heard of its master before it can follow it.
    await eventually('a replica', async () => {
      if ((await redisCommand(port, 'ROLE')).startsWith('slave')) return true
      await redisCommand(port, 'CLUSTER', 'REPLICATE', id)
      return false
    })
    replicas.push({ port, child })
  }
  for (const { port } of replicas) {
    await eventually('a replica that follows', async () =>
      (await redisCommand(port, 'INFO', 'replication')).includes('link_status:up'),
    )
  }
  return replicas
}
