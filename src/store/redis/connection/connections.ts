import fastifyRedis, { type FastifyRedisPluginOptions } from '@fastify/redis'
import fastify, { type FastifyInstance } from 'fastify'
import { Cluster, type Redis } from 'ioredis'
import { within } from '../../../base/deadline.ts'
import type { Logger } from '../../../base/log/log.ts'
import { followNodeFaults } from '../../../workarounds/ioredis-node-faults.ts'
import type { RedisClient } from './client.ts'
import { watchFaults } from './database.ts'
import { followLoading } from './loading.ts'
import { clusterOptionsOf, MAX_RECONNECT_PAUSE, nodeOptionsOf, type RedisSettings, serverOptionsOf } from './options.ts'
import { Outages } from './outages.ts'
import { placeOf } from './shown-address.ts'
import { endWhenSilent } from './silence.ts'

/** What a further connection is for. */
export type Purpose = 'journal' | 'proof' | 'tracking'

/** Further connections carry few commands, each as soon as it is sent; what was set up on them is gone when they are lost. */
const FURTHER_OPTIONS = { enableAutoPipelining: false }

/**
 * The connections of one store. `@fastify/redis` opens them, keeps them by their names and closes them, in a Fastify
 * context of its own: no listener belongs to it, and so none waits for Redis.
 */
export class Connections {
  /** The connection of the commands. */
  readonly store: RedisClient
  readonly #context = fastify()
  readonly #settings: RedisSettings
  readonly #timeout: number
  readonly #further: RedisClient[] = []

  constructor(settings: RedisSettings, timeout: number, log: Logger) {
    this.#settings = settings
    this.#timeout = timeout
    this.store = this.#open('store', () => new Cluster(settings.cluster ?? [], clusterOptionsOf(settings, timeout)))
    const outages = new Outages(placeOf(settings), log)
    const causeOf = this.store instanceof Cluster ? followNodeFaults(this.store) : (fault: Error) => fault
    watchFaults(this.store, fault => outages.lost(causeOf(fault)))
    this.store.on('ready', () => outages.back())
    const isLoading = followLoading(this.store, timeout)
    const fault = (): Error => new Error(isLoading() ? 'LOADING' : 'no answer in time')
    endWhenSilent(this.store, timeout, () => outages.lost(fault()))
  }

  /** Opens a further connection to where `store` is connected. It is found, lost and made again in the same way. */
  open(purpose: Purpose): RedisClient {
    const client = this.#open(purpose, () => (this.store as Cluster).duplicate([], FURTHER_OPTIONS), {
      ...FURTHER_OPTIONS,
      autoResubscribe: false,
    })
    // When Redis is lost, `store` reports it.
    watchFaults(client, () => undefined)
    endWhenSilent(client, this.#timeout)
    this.#further.push(client)
    return client
  }

  /** Opens a further connection to one node of a Cluster, which its owner cuts. */
  openTo({ options: { host, port } }: Redis): Redis {
    const context = fastify()
    const options = { ...nodeOptionsOf(this.#settings, this.#timeout), ...FURTHER_OPTIONS, host, port }
    register(context, { namespace: 'tracking', ...options, autoResubscribe: false } as FastifyRedisPluginOptions)
    const client = prepare(context.redis.tracking as Redis)
    client.on('error', () => undefined)
    endWhenSilent(client, this.#timeout)
    return client
  }

  /** The plugin makes clients of single servers itself; those of a Cluster it is given. */
  #open(namespace: 'store' | Purpose, cluster: () => Cluster, options: { autoResubscribe?: false } = {}): RedisClient {
    const isCluster = this.#settings.cluster !== undefined
    register(
      this.#context,
      isCluster
        ? { namespace, client: cluster(), closeClient: true }
        : { namespace, ...serverOptionsOf(this.#settings, this.#timeout), ...options },
    )
    return prepare(this.#context.redis[namespace] as RedisClient)
  }

  /** Resolves when commands can be sent, or Redis cannot be reached, or after the timeout. */
  async ready(): Promise<void> {
    if (this.store.status !== 'ready') await this.#within(settled(this.store))
    if (!(this.store instanceof Cluster)) return
    // The client connects to a node when the first command is for it, and refuses others until then.
    const nodes = this.store.nodes('master').filter(({ status }) => status === 'wait')
    await this.#within(Promise.all(nodes.map(node => node.connect().catch(() => undefined))))
  }

  async #within(event: Promise<unknown>): Promise<void> {
    await within(this.#timeout, event, () => undefined)
  }

  /** Lets what was sent on `store` be answered. Where Redis does not answer, the connection's own timeout ends this. */
  async close(): Promise<void> {
    closing.add(this.store)
    endRefreshes(this.store)
    for (const client of this.#further) cut(client)
    // What is not connected cannot be closed by the command of Redis for it, and is an error of the context.
    await this.#context.close().catch(() => undefined)
    this.store.disconnect()
  }
}

/** Opens the connection of the commands. Waits for Redis no longer than the timeout: without Redis the gateway starts, too. */
export async function connect(settings: RedisSettings, timeout: number, log: Logger): Promise<Connections> {
  const connections = new Connections(settings, timeout, log)
  await connections.ready()
  return connections
}

/**
 * The plugin is called and not queued: a context begins nothing, and closes nothing, before the plugins in its queue have
 * called back, and this one calls back when Redis answers.
 */
function register(context: FastifyInstance, options: FastifyRedisPluginOptions): void {
  let fault: Error | undefined
  fastifyRedis(context, options, error => {
    fault = error
  })
  if (fault !== undefined) throw fault
}

/** The plugin gives up a Redis whose name cannot be resolved when the gateway starts. This client tries again. */
function prepare<T extends RedisClient>(client: T): T {
  client.removeAllListeners('error').removeAllListeners('end')
  neverEnd(client)
  return client
}

const settled = (client: RedisClient): Promise<void> =>
  new Promise(resolve => {
    for (const event of ['ready', 'close', 'end']) client.once(event, () => resolve())
  })

/** Ends a further connection at once, with what is under way on it. */
export function cut(client: RedisClient): void {
  closing.add(client)
  endRefreshes(client)
  client.disconnect()
}

/** A refresh of the slots that is under way while a client of a Cluster is closed begins the next one, again and again. */
function endRefreshes(client: RedisClient): void {
  if (client instanceof Cluster) client.refreshSlotsCache = () => undefined
}

const closing = new WeakSet<RedisClient>()

/**
 * A client that has ended connects no more: with Sentinel that happens when a switch of masters is announced while the
 * client asks where the master is. Only closing may end one.
 */
function neverEnd(client: RedisClient): void {
  client.on('end', () => {
    if (closing.has(client)) return
    setTimeout(() => {
      if (!closing.has(client)) client.connect().catch(() => undefined)
    }, MAX_RECONNECT_PAUSE)
  })
}
