import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './ports.ts'
import {
  endProcess,
  eventually,
  pairOf,
  type RedisNode,
  type RedisPair,
  redisCommand,
  removeFolder,
  spawnOn,
  spawnRedis,
} from './redis-server.ts'

/** A master with one replica, watched by three Sentinels of which two have to agree. */
export interface SentinelSetup {
  sentinels: { host: string; port: number }[]
  name: string
  /** As they were at the start. */
  master: ChildProcess
  masterPort: number
  replica: ChildProcess
  replicaPort: number
  sentinelProcesses: ChildProcess[]
  /** Which of them is the master now; resolves when its replica follows it and every Sentinel knows both. */
  pair(): Promise<RedisPair>
  /** From now on a master that does not answer for a second is given up. */
  giveUpSoon(): Promise<void>
  /** Resolves when the replica, that of the start unless another port is given, was made the master. */
  promoted(port?: number): Promise<void>
  /**
   * Kills whichever is the master, so many milliseconds after its replica has lost it, and resolves when the replica has
   * replaced it without what it missed.
   */
  failover(lag: number): Promise<void>
  /** What was killed by it comes back and follows the other. */
  rejoin(): Promise<void>
  stop(): Promise<void>
}

const NAME = 'sessions'
/** Until a master that does not answer is given up, in milliseconds. */
const DOWN_AFTER = 1000

/** `downAfter` milliseconds without an answer give a master up: many for a test in which none is lost, or not yet. */
export async function startSentinels(downAfter = DOWN_AFTER): Promise<SentinelSetup> {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-sentinel-'))
  const processes: ChildProcess[] = []
  const started = async (process: Promise<ChildProcess>): Promise<ChildProcess> => {
    const child = await process
    processes.push(child)
    return child
  }
  const stop = async (): Promise<void> => {
    await Promise.all(processes.map(endProcess))
    await removeFolder(folder)
  }
  try {
    const [masterPort, replicaPort] = [await freePort(), await freePort()]
    const master = await started(spawnRedis(masterPort, folder))
    const replica = await started(spawnRedis(replicaPort, folder, ['--replicaof', '127.0.0.1', String(masterPort)]))
    await eventually(async () => (await redisCommand(replicaPort, 'INFO', 'replication')).includes('link_status:up'))
    const sentinelPorts = [await freePort(), await freePort(), await freePort()]
    const sentinelProcesses = await Promise.all(
      sentinelPorts.map(port => started(spawnOn(port, [configure(folder, port, masterPort, downAfter), '--sentinel']))),
    )
    for (const port of sentinelPorts) await eventually(() => knowsAll(port, String(masterPort)))
    const nodes: RedisNode[] = [
      { port: masterPort, child: master },
      { port: replicaPort, child: replica },
    ]
    const pair = () =>
      eventually(async () => {
        const found = await pairOf(nodes)
        const port = String(found?.master.port)
        for (const sentinel of sentinelPorts) if (!(await knowsAll(sentinel, port))) return null
        return found
      })
    return {
      sentinels: sentinelPorts.map(port => ({ host: '127.0.0.1', port })),
      name: NAME,
      master,
      masterPort,
      replica,
      replicaPort,
      sentinelProcesses,
      pair,
      async giveUpSoon() {
        for (const port of sentinelPorts)
          await redisCommand(port, 'SENTINEL', 'SET', NAME, 'down-after-milliseconds', String(DOWN_AFTER))
      },
      promoted: (port = replicaPort) => isMaster(port),
      async failover(lag) {
        const { master, replica } = await pair()
        replica.child.kill('SIGSTOP')
        await redisCommand(master.port, 'CLIENT', 'KILL', 'TYPE', 'replica')
        await new Promise(resolve => setTimeout(resolve, lag))
        await endProcess(master.child)
        replica.child.kill('SIGCONT')
        await isMaster(replica.port)
      },
      async rejoin() {
        const killed = nodes.find(({ child }) => child.exitCode !== null || child.signalCode !== null)!
        const master = nodes.find(node => node !== killed)!
        const following = ['--replicaof', '127.0.0.1', String(master.port)]
        killed.child = await started(spawnRedis(killed.port, folder, following))
        await pair()
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A Sentinel keeps what it learns in its configuration, so each has a file. */
function configure(folder: string, port: number, masterPort: number, downAfter: number): string {
  const file = join(folder, `sentinel-${port}.conf`)
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${NAME} ${downAfter}`,
    `sentinel failover-timeout ${NAME} 5000`,
  ]
  writeFileSync(file, lines.join('\n'))
  return file
}

async function knowsAll(port: number, master: string): Promise<boolean> {
  const known = await redisCommand(port, 'INFO', 'sentinel')
  return known.includes('status=ok') && known.includes(`:${master},slaves=1,sentinels=3`)
}

const isMaster = async (port: number): Promise<void> =>
  void (await eventually(async () => (await redisCommand(port, 'ROLE')).startsWith('master')))
