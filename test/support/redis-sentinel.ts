import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './ports.ts'
import { endProcess, redisCommand, removeFolder, spawnOn, spawnRedis } from './redis-server.ts'
import { until } from './until.ts'

/** A master with one replica, watched by three Sentinels of which two have to agree. */
export interface SentinelSetup {
  sentinels: { host: string; port: number }[]
  name: string
  master: ChildProcess
  masterPort: number
  replica: ChildProcess
  replicaPort: number
  sentinelProcesses: ChildProcess[]
  /** Resolves when the replica was made the master. */
  promoted(): Promise<void>
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

export async function startSentinels(): Promise<SentinelSetup> {
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
      sentinelPorts.map(port => started(spawnOn(port, [configure(folder, port, masterPort), '--sentinel']))),
    )
    for (const port of sentinelPorts) await eventually(() => knowsAll(port))
    let [first, second] = [
      { port: masterPort, child: master },
      { port: replicaPort, child: replica },
    ]
    return {
      sentinels: sentinelPorts.map(port => ({ host: '127.0.0.1', port })),
      name: NAME,
      master,
      masterPort,
      replica,
      replicaPort,
      sentinelProcesses,
      promoted: () => isMaster(replicaPort),
      async failover(lag) {
        second.child.kill('SIGSTOP')
        await redisCommand(first.port, 'CLIENT', 'KILL', 'TYPE', 'replica')
        await new Promise(resolve => setTimeout(resolve, lag))
        await endProcess(first.child)
        second.child.kill('SIGCONT')
        await isMaster(second.port)
        ;[first, second] = [second, first]
      },
      async rejoin() {
        const following = ['--replicaof', '127.0.0.1', String(first.port)]
        second.child = await started(spawnRedis(second.port, folder, following))
        await eventually(async () =>
          (await redisCommand(second.port, 'INFO', 'replication')).includes('link_status:up'),
        )
        for (const port of sentinelPorts) await eventually(() => knowsAll(port))
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A Sentinel keeps what it learns in its configuration, so each has a file. */
function configure(folder: string, port: number, masterPort: number): string {
  const file = join(folder, `sentinel-${port}.conf`)
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER}`,
    `sentinel failover-timeout ${NAME} 5000`,
  ]
  writeFileSync(file, lines.join('\n'))
  return file
}

async function knowsAll(port: number): Promise<boolean> {
  const known = await redisCommand(port, 'INFO', 'sentinel')
  return /status=ok/.test(known) && /slaves=1/.test(known) && /sentinels=3/.test(known)
}

const isMaster = (port: number): Promise<void> =>
  eventually(async () => (await redisCommand(port, 'ROLE')).startsWith('master'))

/** A server that changes its role closes its connections. */
async function eventually(holds: () => Promise<boolean>): Promise<void> {
  await until(() => holds().catch(() => false))
}
