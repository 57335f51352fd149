import type { ChildProcess } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from './ports.ts'
import {
  endProcess,
  eventually,
  pairOf,
  type RedisNode,
  type RedisPair,
  redisCommand,
  removeFolder,
  spawnRedis,
} from './redis-server.ts'

export interface RedisCluster {
  nodes: { host: string; port: number }[]
  /** The processes of the masters, in the order of `nodes`. */
  masters: ChildProcess[]
  /** Adds a replica to each master; answers them in the order of `nodes`. */
  addReplicas(): Promise<RedisNode[]>
  /** Of one of `nodes` and its replica, which is the master now; resolves when the other follows it. */
  shard(index: number): Promise<RedisPair>
  /** Starts the node of a port again, which was killed. */
  restart(port: number): Promise<void>
  /** Adds a master without slots. */
  addMaster(): Promise<RedisNode>
  stop(): Promise<void>
}

const SLOTS = 16_384

/** Until a master that does not answer is given up, in milliseconds. */
export const NODE_TIMEOUT = 4000

/** Three masters that share the slots, as a Cluster that is up. `nodeTimeout` milliseconds without an answer give a master up: many for a test in which none is lost. */
export async function startCluster(nodeTimeout = NODE_TIMEOUT): Promise<RedisCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-cluster-'))
  const nodes = await Promise.all([1, 2, 3].map(() => startNode(folder, nodeTimeout)))
  const further: Node[] = []
  const replicas: RedisNode[] = []
  const clients = nodes.map(({ port }) => new Redis({ port, host: '127.0.0.1', protocol: 2 }))
  try {
    await form(clients, nodes)
  } finally {
    for (const client of clients) client.disconnect()
  }
  const add = async (): Promise<Node> => {
    const node = await startNode(folder, nodeTimeout)
    further.push(node)
    await redisCommand(nodes[0]!.port, 'CLUSTER', 'MEET', '127.0.0.1', String(node.port), String(node.bus))
    return node
  }
  return {
    nodes: nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
    masters: nodes.map(({ child }) => child),
    addMaster: async () => {
      const node = await add()
      // One that has not heard of it yet refuses to move a slot there.
      for (const { port } of [...nodes, ...further]) await untilKnown(port, nodes.length + further.length)
      return node
    },
    addReplicas: async () => {
      for (const { port } of nodes) replicas.push(await add().then(node => follow(node, port)))
      for (const { port } of replicas) {
        await eventually(async () => (await redisCommand(port, 'INFO', 'replication')).includes('link_status:up'))
      }
      return replicas
    },
    shard: index => eventually(() => pairOf([nodes[index]!, replicas[index]!])),
    async restart(port) {
      const node = [...nodes, ...further].find(node => node.port === port)!
      node.child = await spawnNode(port, node.bus, folder, nodeTimeout)
    },
    async stop() {
      await Promise.all([...nodes, ...further].map(({ child }) => endProcess(child)))
      await removeFolder(folder)
    },
  }
}

type Node = RedisNode & { bus: number }

async function startNode(folder: string, timeout: number): Promise<Node> {
  const [port, bus] = await Promise.all([freePort(), freePort()])
  return { port, bus, child: await spawnNode(port, bus, folder, timeout) }
}

/** One that was there before knows its Cluster from its file. */
function spawnNode(port: number, bus: number, folder: string, timeout: number): Promise<ChildProcess> {
  const file = ['--cluster-enabled', 'yes', '--cluster-config-file', `nodes-${port}.conf`]
  return spawnRedis(port, folder, [...file, '--cluster-port', String(bus), '--cluster-node-timeout', String(timeout)])
}

async function follow(node: RedisNode, masterPort: number): Promise<RedisNode> {
  const id = await redisCommand(masterPort, 'CLUSTER', 'MYID')
  // It has to have heard of its master before it can follow it.
  await eventually(async () => {
    if ((await redisCommand(node.port, 'ROLE')).startsWith('slave')) return true
    await redisCommand(node.port, 'CLUSTER', 'REPLICATE', id)
    return false
  })
  return node
}

/** Moves a slot with its keys from one master to another, step by step. `between` runs when half of it is done. */
export async function moveSlot(
  slot: number,
  from: number,
  to: number,
  between: () => Promise<void> = async () => undefined,
): Promise<void> {
  const [fromId, toId] = await Promise.all([from, to].map(port => redisCommand(port, 'CLUSTER', 'MYID')))
  await redisCommand(to, 'CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', fromId!)
  await redisCommand(from, 'CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', toId!)
  for (;;) {
    const keys = (await redisCommand(from, 'CLUSTER', 'GETKEYSINSLOT', String(slot), '100')).split('\n').filter(Boolean)
    if (keys.length === 0) break
    await redisCommand(from, 'MIGRATE', '127.0.0.1', String(to), '', '0', '5000', 'KEYS', ...keys)
  }
  try {
    await between()
  } finally {
    for (const port of [to, from]) await redisCommand(port, 'CLUSTER', 'SETSLOT', String(slot), 'NODE', toId!)
  }
}

/** How long Redis tries a failover that was requested, in milliseconds: then it gives it up without a word. */
const FAILOVER_LIMIT = 5000

/** Makes a replica a master. */
export async function failOver(port: number): Promise<void> {
  let requestedAt = Number.NEGATIVE_INFINITY
  await eventually(async () => {
    if ((await redisCommand(port, 'ROLE')).startsWith('master')) return true
    if (performance.now() - requestedAt > FAILOVER_LIMIT) {
      requestedAt = performance.now()
      await redisCommand(port, 'CLUSTER', 'FAILOVER')
    }
    return false
  })
}

const untilKnown = (port: number, nodes: number): Promise<unknown> =>
  eventually(async () => {
    const info = await redisCommand(port, 'CLUSTER', 'INFO')
    return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes}`)
  })

async function form(clients: Redis[], nodes: readonly { port: number; bus: number }[]): Promise<void> {
  const share = Math.ceil(SLOTS / clients.length)
  for (const [i, client] of clients.entries()) {
    const last = Math.min(SLOTS, (i + 1) * share) - 1
    await client.call('CLUSTER', 'ADDSLOTSRANGE', String(i * share), String(last))
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1))
  }
  for (const { port, bus } of nodes.slice(1)) {
    await clients[0]!.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(bus))
  }
  for (const { port } of nodes) await untilKnown(port, nodes.length)
}
