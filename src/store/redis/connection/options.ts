import dns from 'node:dns'
import type { ClusterOptions, RedisOptions } from 'ioredis'
import type { Settings } from '../../../settings/schema/settings.ts'

/*
 * By default a Redis client waits: for a connection, for an answer, for a retry. This one never does. A command that
 * cannot be sent now fails at once. Nothing is sent twice, because a record could be written again after its deletion. A
 * connection without answers is closed, and all commands on it fail.
 */

export type RedisSettings = NonNullable<Settings['store']['redis']>

/**
 * Pauses between attempts to connect grow up to this, in milliseconds, and are jittered: soon after Redis is back, so
 * is the client.
 */
export const MAX_RECONNECT_PAUSE = 500
const KEEP_ALIVE = 10_000
/** How long Redis may take to close a connection that we close, in milliseconds. */
const MAX_GOODBYE = 100

const reconnectPause = (attempt: number): number =>
  Math.min(MAX_RECONNECT_PAUSE, 20 * 2 ** Math.min(attempt, 6)) * (0.5 + Math.random() / 2)

/** Of one server, or of the master that Sentinels name. */
export function serverOptionsOf(settings: RedisSettings, timeout: number) {
  const options = nodeOptionsOf(settings, timeout)
  if (settings.sentinels === undefined) return { ...options, url: settings.url ?? '' }
  return {
    ...options,
    sentinels: settings.sentinels,
    name: settings.name ?? '',
    role: 'master' as const,
    sentinelCommandTimeout: timeout,
    sentinelRetryStrategy: reconnectPause,
    failoverDetector: true,
    ...(settings.tls === true && { enableTLSForSentinelMode: true }),
  }
}

export function clusterOptionsOf(settings: RedisSettings, timeout: number) {
  return {
    redisOptions: nodeOptionsOf(settings, timeout),
    lazyConnect: true,
    dnsLookup: resolveNode,
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    scaleReads: 'master' as const,
    slotsRefreshTimeout: timeout,
    slotsRefreshInterval: 1000,
    clusterRetryStrategy: reconnectPause,
    // These follow a refusal by the node: nothing was done yet.
    maxRedirections: 4,
    retryDelayOnClusterDown: 100,
    retryDelayOnTryAgain: 50,
    // This would repeat commands after a lost connection, although it is unknown whether they were executed.
    retryDelayOnFailover: 0,
  } satisfies ClusterOptions
}

/**
 * A name without an address stays a name: its node alone then cannot be reached. The library would give up all nodes of
 * the settings because of one, such as one that is down and has therefore lost its name.
 */
const resolveNode: NonNullable<ClusterOptions['dnsLookup']> = (name, resolved) =>
  dns.lookup(name, (fault, address) => resolved(null, fault === null ? address : name))

/** Of one connection to one server. */
export function nodeOptionsOf({ username, password, tls }: RedisSettings, timeout: number) {
  return {
    protocol: 2 as const,
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // With every lost connection all commands that waited on it fail.
    maxRetriesPerRequest: 0,
    enableAutoPipelining: true,
    // Already the reads of a whole turn: written at once, and not after the answers to the pipeline before.
    autoPipeliningIgnoredCommands: ['mget'],
    connectTimeout: timeout,
    // Neither `commandTimeout` nor `socketTimeout`: after a stall of this process they end before the answers are read that
    // have arrived. Each command has its own timeout in `ask`, and `silence.ts` ends connections without answers.
    disconnectTimeout: MAX_GOODBYE,
    keepAlive: KEEP_ALIVE,
    retryStrategy: reconnectPause,
    // A master that became a replica refuses writes; the connection has to be made anew to find the new one.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls === true && { tls: {} }),
  } satisfies RedisOptions
}
