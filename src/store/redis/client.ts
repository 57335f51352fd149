import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis'
import type { Settings } from '../../config/schema/settings.ts'
import type { Logger } from '../../log.ts'

/*
 * Only this file connects to Redis. By default a Redis client waits: for a connection, for an answer, for a retry. This
 * one never does. A command that cannot be sent now fails at once. Nothing is sent twice, because a record could be
 * written again after its deletion. A connection without answers is closed, and all commands on it fail.
 */

export type RedisClient = Redis | Cluster
type RedisSettings = NonNullable<Settings['store']['redis']>

/**
 * Pauses between attempts to connect grow up to this, in milliseconds, and are jittered: soon after Redis is back, so
 * is the client.
 */
const MAX_RECONNECT_PAUSE = 500
const KEEP_ALIVE = 10_000
/** How long Redis may take to close a connection that we close, in milliseconds. */
const MAX_GOODBYE = 100

const reconnectPause = (attempt: number): number =>
  Math.min(MAX_RECONNECT_PAUSE, 20 * 2 ** Math.min(attempt, 6)) * (0.5 + Math.random() / 2)

/**
 * Opens the client and waits for the first connection, at most for the timeout; without a connection the gateway starts
 * too.
 */
export async function connectRedis(settings: RedisSettings, timeout: number, log: Logger): Promise<RedisClient> {
  const client = createClient(settings, timeout)
  logOutages(client, log)
  neverEnd(client)
  const ready = client.connect().catch(() => undefined)
  await Promise.race([ready, new Promise(resolve => setTimeout(resolve, timeout).unref())])
  return client
}

/**
 * A second connection to where the client is connected, found in the same way; the code that opens it also connects it.
 * After a loss it reconnects by itself, without its previous state.
 */
export function secondConnection<C extends RedisClient>(client: C): C {
  const options = { enableAutoPipelining: false }
  const second =
    client instanceof Cluster
      ? client.duplicate([], options)
      : (client as Redis).duplicate({ ...options, autoResubscribe: false })
  // Where Redis is lost, the client says so.
  second.on('error', () => undefined)
  neverEnd(second)
  return second as C
}

function createClient(settings: RedisSettings, timeout: number): RedisClient {
  const options = optionsOf(settings, timeout)
  if (settings.cluster !== undefined) return new Cluster(settings.cluster, clusterOptionsOf(options, timeout))
  if (settings.sentinels !== undefined) {
    return new Redis({
      ...options,
      sentinels: settings.sentinels,
      name: settings.name ?? '',
      role: 'master' as const,
      sentinelCommandTimeout: timeout,
      sentinelRetryStrategy: reconnectPause,
      failoverDetector: true,
      ...(settings.tls === true && { enableTLSForSentinelMode: true }),
    })
  }
  return new Redis(settings.url ?? '', options)
}

function optionsOf({ username, password, tls }: RedisSettings, timeout: number) {
  return {
    protocol: 2 as const,
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // With every lost connection all that waited on it fails.
    maxRetriesPerRequest: 0,
    enableAutoPipelining: true,
    connectTimeout: timeout,
    // Something is waited for, the handshake too, and nothing arrives. Each command is timed where it is asked: the
    // library's own time begins when it is written, and a pipeline is written when the one before it is answered.
    socketTimeout: timeout,
    disconnectTimeout: MAX_GOODBYE,
    keepAlive: KEEP_ALIVE,
    retryStrategy: reconnectPause,
    // A master that became a replica refuses writes; the connection has to be made anew to find the new one.
    reconnectOnError: error => error.message.startsWith('READONLY'),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls === true && { tls: {} }),
  } satisfies RedisOptions
}

function clusterOptionsOf(redisOptions: ReturnType<typeof optionsOf>, timeout: number) {
  return {
    redisOptions,
    lazyConnect: true,
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    scaleReads: 'master',
    slotsRefreshTimeout: timeout,
    slotsRefreshInterval: 1000,
    clusterRetryStrategy: reconnectPause,
    // Those follow a refusal by the node: nothing was done yet.
    maxRedirections: 4,
    retryDelayOnClusterDown: 100,
    retryDelayOnTryAgain: 50,
    // This would repeat commands after a lost connection, although it is unknown whether they were executed.
    retryDelayOnFailover: 0,
  } satisfies ClusterOptions
}

/** Logs one line when Redis is lost and one when it is back; the client repeats the same error with every attempt. */
function logOutages(client: RedisClient, log: Logger): void {
  let lost = false
  client.on('error', (error: Error) => {
    if (lost) return
    lost = true
    log.error({ fault: summaryOf(error) }, 'Redis is lost')
  })
  client.on('ready', () => {
    if (lost) log.info('Redis is back')
    lost = false
  })
}

const closing = new WeakSet<RedisClient>()

/**
 * A client that has ended connects no more: with Sentinel that happens when a switch of masters is announced while the
 * client is asking where the master is. Only `closeRedis` may end one.
 */
function neverEnd(client: RedisClient): void {
  client.on('end', () => {
    if (closing.has(client)) return
    setTimeout(() => {
      if (!closing.has(client)) client.connect().catch(() => undefined)
    }, MAX_RECONNECT_PAUSE)
  })
}

/** The loggable part of an error: its kind. The rest can contain the command, and with it a token. */
export function summaryOf(error: unknown): string {
  const { message = '', name = 'Error' } = error as Partial<Error>
  const kind =
    /^(?:[A-Z]{2,}\b|connect \w+|Command timed out|Connection is closed|Stream isn't writeable|Socket timeout)/.exec(
      message,
    )
  return kind?.[0] ?? name
}

/** Warnings about the configuration of Redis; in a Cluster every master is checked. */
export async function redisWarnings(client: RedisClient): Promise<string[]> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client]
  const warnings = await Promise.all(nodes.map(nodeWarnings))
  return [...new Set(warnings.flat())]
}

async function nodeWarnings(node: Redis): Promise<string[]> {
  const warnings: string[] = []
  // This user may lack the right to each of these commands; then there is no warning.
  const [server, persistence, policy] = await Promise.all([
    node.info('server').catch(() => ''),
    node.info('persistence').catch(() => ''),
    node.config('GET', 'maxmemory-policy').catch(() => []),
  ])
  const version = /redis_version:(\d+)\.(\d+)/.exec(server)
  const [major, minor] = version === null ? [0, 0] : [Number(version[1]), Number(version[2])]
  if (major > 0 && (major < 6 || (major === 6 && minor < 2))) {
    warnings.push(`Redis ${major}.${minor} is too old: 6.2 or newer is needed`)
  }
  const [, value] = policy as string[]
  if (value !== undefined && value !== 'noeviction') {
    warnings.push(
      `Redis evicts keys (maxmemory-policy ${value}): sessions and disable records may vanish; use noeviction`,
    )
  }
  if (/^aof_enabled:0/m.test(persistence)) {
    warnings.push(
      'Redis writes no append-only file: after a crash it has the sessions of its last snapshot, ended ones too; ' +
        'set appendonly yes',
    )
  }
  return warnings
}

export async function closeRedis(client: RedisClient): Promise<void> {
  closing.add(client)
  // Where nothing is answered any more, the connection's own timeout ends this.
  if (client.status === 'ready') await client.quit().catch(() => undefined)
  client.disconnect()
}

/** The same of a connection whose answers are of no use any more. */
export function cutRedis(client: RedisClient): void {
  closing.add(client)
  client.disconnect()
}
