import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from './ports.ts'
import { endProcess, spawnRedis } from './redis-server.ts'

export interface RedisCluster {
  nodes: { host: string; port: number }[]
  /** The processes of the masters, in the order of `nodes`. */
  masters: ChildProcess[]
  stop(): Promise<void>
}

const SLOTS = 16_384

/** Three masters that share the slots, as a Cluster that is up. */
export async function startCluster(): Promise<RedisCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-cluster-'))
  const ports = await Promise.all([freePort(), freePort(), freePort()])
  const busPorts = await Promise.all(ports.map(() => freePort()))
  const masters = await Promise.all(
    ports.map((port, i) => {
      const args = [
        '--cluster-enabled',
        'yes',
        '--cluster-config-file',
        `nodes-${port}.conf`,
        '--cluster-port',
        String(busPorts[i]),
      ]
      return spawnRedis(port, folder, [...args, '--cluster-node-timeout', '2000'])
    }),
  )
  const clients = ports.map(port => new Redis({ port, host: '127.0.0.1', protocol: 2 }))
  try {
    await form(clients, ports, busPorts)
  } finally {
    for (const client of clients) client.disconnect()
  }
  return {
    nodes: ports.map(port => ({ host: '127.0.0.1', port })),
    masters,
    async stop() {
      await Promise.all(masters.map(endProcess))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function form(clients: Redis[], ports: number[], busPorts: number[]): Promise<void> {
  const share = Math.ceil(SLOTS / clients.length)
  for (const [i, client] of clients.entries()) {
    const last = Math.min(SLOTS, (i + 1) * share) - 1
    await client.call('CLUSTER', 'ADDSLOTSRANGE', String(i * share), String(last))
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1))
  }
  for (const [i, port] of ports.entries()) {
    if (i > 0) await clients[0]!.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPorts[i]))
  }
  for (let tries = 0; tries < 200; tries++) {
    const states = await Promise.all(clients.map(client => client.call('CLUSTER', 'INFO') as Promise<string>))
    if (states.every(state => state.includes('cluster_state:ok') && state.includes('cluster_known_nodes:3'))) return
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error('the cluster did not come up')
}
