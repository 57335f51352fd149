import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { startProxy } from '../store/redis-proxy.ts'
import { pathOf } from './installed.ts'
import { freePort, isListening } from './ports.ts'
import { until } from './until.ts'

/** A Redis that a test owns: its faults are real ones. */
export interface RedisServer {
  url: string
  port: number
  /** One command as redis-cli would send it; lists come back one item per line. */
  cli(...args: string[]): Promise<string>
  /** Nothing is answered, and no connection is closed (SIGSTOP). */
  pause(): void
  resume(): void
  /** Gone at once (SIGKILL), with everything it held. */
  kill(): Promise<void>
  /** Up again on the same port, empty. */
  restart(): Promise<void>
  stop(): Promise<void>
}

const REDIS = pathOf('redis-server')
const onPath = REDIS !== undefined

export const redisAvailable = (): boolean => onPath || process.env.REDIS_URL !== undefined

/** Why a suite is left out, or `false` where nothing is missing. */
export const withoutRedis = redisAvailable() ? false : 'LEFT OUT: no redis-server on PATH and no REDIS_URL'
/** The same for what needs several servers of its own. */
export const withoutRedisServer = onPath ? false : 'LEFT OUT: no redis-server on PATH'

export const startRedis = (): Promise<RedisServer> => (onPath ? startServer() : startProxied(process.env.REDIS_URL!))

/** Runs one command on a connection of its own; lists come back one item per line. */
export async function redisCommand(
  at: number | { port: number; password: string },
  ...args: string[]
): Promise<string> {
  const server = typeof at === 'number' ? { port: at } : at
  const client = new Redis({ ...server, host: '127.0.0.1', protocol: 2, lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const [command, ...rest] = args
    return textOf(await client.call(command!, ...rest))
  } finally {
    client.disconnect()
  }
}

function textOf(answer: unknown): string {
  if (Array.isArray(answer)) return answer.map(textOf).join('\n')
  return answer === null || answer === undefined ? '' : String(answer)
}

/** Starts one process with further arguments, and resolves when it takes connections. */
export function spawnRedis(port: number, folder: string, args: string[] = []): Promise<ChildProcess> {
  const base = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no']
  return spawnOn(port, [...base, ...args])
}

/** The same with no arguments but these, which have to name the port. */
export async function spawnOn(port: number, args: string[]): Promise<ChildProcess> {
  const child = spawn(REDIS!, args, { stdio: 'ignore' })
  try {
    await until(() => isListening(port))
    return child
  } catch (fault) {
    child.kill('SIGKILL')
    throw fault
  }
}

/** One of several servers that hold the same. */
export interface RedisNode {
  port: number
  child: ChildProcess
}

export interface RedisPair {
  master: RedisNode
  replica: RedisNode
}

/** Waits for what servers come to by themselves, and answers it. A server that changes its role closes its connections. */
export const eventually = <T>(look: () => Promise<T>) => until<T | false>(() => look().catch(() => false as const))

/** `null` while no master has a replica that follows it. */
export async function pairOf(nodes: readonly RedisNode[]): Promise<RedisPair | null> {
  const replication = await Promise.all(nodes.map(({ port }) => redisCommand(port, 'INFO', 'replication')))
  const master = nodes.find((_, i) => replication[i]!.includes('role:master'))
  const replica = nodes.find((_, i) => replication[i]!.includes('master_link_status:up'))
  return master === undefined || replica === undefined ? null : { master, replica }
}

export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

/** Removes the folder of servers that have ended. One that was killed may leave a child behind, which still writes a file there. */
export async function removeFolder(folder: string): Promise<void> {
  await until(() => {
    try {
      rmSync(folder, { recursive: true, force: true })
      return true
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw fault
      return false
    }
  })
}

async function startServer(): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-redis-'))
  const port = await freePort()
  let child = await spawnRedis(port, folder)
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    cli: (...args) => redisCommand(port, ...args),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill: () => endProcess(child),
    async restart() {
      await endProcess(child)
      child = await spawnRedis(port, folder)
    },
    async stop() {
      await endProcess(child)
      await removeFolder(folder)
    },
  }
}

/** A server that is not ours to stop: its faults happen on the way to it. It has to be empty, and is emptied. */
async function startProxied(given: string): Promise<RedisServer> {
  const target = new URL(given)
  const proxy = await startProxy(Number(target.port || 6379), target.hostname)
  const cli = (...args: string[]) => redisCommand(proxy.port, ...args)
  if ((await cli('DBSIZE')) !== '0') throw new Error('the Redis of REDIS_URL holds keys; the tests need an empty one')
  return {
    url: `redis://127.0.0.1:${proxy.port}`,
    port: proxy.port,
    cli,
    pause: () => proxy.pause(),
    resume: () => proxy.resume(),
    kill: () => proxy.cut(),
    async restart() {
      await proxy.open()
      await cli('FLUSHDB')
    },
    async stop() {
      await proxy.open()
      await cli('FLUSHDB')
      await proxy.cut()
    },
  }
}
