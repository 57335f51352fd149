import { Redis } from 'ioredis'
import { freePort } from '../test/support/ports.ts'
import { startCluster } from '../test/support/redis-cluster.ts'
import { OTHER_CORE, pin, programNamed } from './machine.ts'
import { type Scene, type Started, start } from './process.ts'

/** The address of one server, or the nodes of a Cluster. */
export type RedisPlace = string | Nodes

type Nodes = readonly { host: string; port: number }[]

export interface BenchRedis extends Started {
  url: string
  port: number
}

/** Starts a Redis for the run, without persistence; `null` on a machine without Redis. */
export async function startRedis(scene: Scene, name = 'redis'): Promise<BenchRedis | null> {
  const program = programNamed('redis-server')
  if (program === null) return null
  const port = await freePort()
  const quiet = ['--save', '', '--appendonly', 'no', '--loglevel', 'warning']
  const command = [program, '--port', String(port), '--bind', '127.0.0.1', '--dir', scene.folder, ...quiet]
  const started = await start(name, { core: OTHER_CORE, command, folder: scene.folder, port })
  return scene.keep({ ...started, url: `redis://127.0.0.1:${port}`, port })
}

/** Starts a Cluster of three masters without replicas or persistence, all on one core. */
export async function startRedisCluster(scene: Scene): Promise<Nodes> {
  if (programNamed('redis-server') === null) throw new Error('there is no redis-server on this machine')
  const cluster = await startCluster()
  scene.keep({ end: () => cluster.stop() })
  for (const { pid } of cluster.masters) pin(pid!, OTHER_CORE)
  return cluster.nodes
}

/** The settings of a store that is there. */
export const redisSettings = (place: RedisPlace): { url: string } | { cluster: { host: string; port: number }[] } =>
  typeof place === 'string' ? { url: place } : { cluster: [...place] }

/** Bytes of memory that each server holds. */
export async function heldBytes(place: RedisPlace): Promise<number[]> {
  const addresses = typeof place === 'string' ? [place] : place.map(({ host, port }) => `redis://${host}:${port}`)
  return Promise.all(
    addresses.map(async address => {
      const client = new Redis(address, { protocol: 2 })
      const info = await client.info('memory')
      await client.quit()
      return Number(/used_memory:(\d+)/.exec(info)![1])
    }),
  )
}
