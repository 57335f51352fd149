import type { Redis } from 'ioredis'
import type { Clock } from '../../../clock.ts'
import type { Logger } from '../../../log.ts'
import { cut } from '../connection/connections.ts'
import { summaryOf } from '../connection/fault.ts'

/*
 * Redis announces the keys that were written, deleted or have expired (CLIENT TRACKING). The connection that requests
 * this also receives the announcements: it redirects to itself, by its own id, so tracking is never active without a
 * listener. In RESP2 the announcements are messages of a channel; in RESP3 the client library drops them. What is
 * announced below a prefix (BCAST) does not depend on who has read what, and costs Redis no memory per key.
 *
 * Redis writes an announcement before the answer to the client that caused it, and before the answer to a later PING. So
 * a PONG proves that everything is known that was done before its PING was sent.
 */

const CHANNEL = '__redis__:invalidate'
/** Questions within the heartbeat: some may be late, or wait behind a busy event loop. */
const PINGS_PER_HEARTBEAT = 4
/** In milliseconds, before a connection is given up that reached another server than the store's. */
const RETRY_PAUSE = 500

/** Listens for keys below a prefix. */
export interface KeyListener {
  /** Something became of the key with this name, which is what follows the prefix. */
  evict(name: string): void
  /** Any key may have changed. */
  clear(): void
  /** Announcements may be missed, until the next proof is completed. */
  switchOff(): void
  /** Begins a proof that every change until now is known; the answered function completes it, and says for how long it holds. */
  beginProof(): (until: number) => void
}

export interface TrackingOptions {
  /** The connection on which the store asks; what is remembered is believed only while both reach the same server. */
  main: Redis
  /** The connection on which Redis announces, and that carries nothing else. */
  line: Redis
  /** The listeners and their prefixes. If several match, they are called in the order of the list. */
  listeners: readonly { prefix: string; listener: KeyListener }[]
  /** What the listeners do to sessions, as the log has it. */
  purpose: 'cached' | 'watched'
  /** How long after the last proof the listeners are believed, in milliseconds. */
  heartbeat: number
  clock: Clock
  log: Logger
}

/** Keeps what listens true to what Redis announces, and switches it off whenever an announcement could be missed. */
export class RedisTracking {
  readonly #main: Redis
  readonly #line: Redis
  readonly #listeners: TrackingOptions['listeners']
  readonly #purpose: TrackingOptions['purpose']
  readonly #heartbeat: number
  readonly #clock: Clock
  readonly #log: Logger
  readonly #pulse: NodeJS.Timeout
  readonly #silence: NodeJS.Timeout
  /** The present connection; another one, or `null`, as soon as either connection is lost. */
  #connection: { tracked: boolean } | null = null
  #believed = false
  /** Why they are not believed, as the log has it. */
  #obstacle: string | null = null

  constructor({ main, line, listeners, purpose, heartbeat, clock, log }: TrackingOptions) {
    this.#main = main
    this.#line = line
    this.#listeners = listeners
    this.#purpose = purpose
    this.#heartbeat = heartbeat
    this.#clock = clock
    this.#log = log
    this.#line.on('ready', () => this.#begin())
    this.#line.on('close', this.#lose)
    this.#line.on('messageBuffer', (_channel, keys) => this.#passOn(keys as unknown as Buffer[] | null))
    main.on('close', this.#lose)
    main.on('ready', this.#startOver)
    this.#pulse = setInterval(() => this.#prove(), heartbeat / PINGS_PER_HEARTBEAT).unref()
    this.#silence = setTimeout(() => this.#doubt('Redis is silent'), heartbeat).unref()
  }

  async #begin(): Promise<void> {
    const connection = { tracked: false }
    this.#connection = connection
    try {
      const sameServer = await this.#track()
      if (this.#connection !== connection) return
      if (!sameServer) return this.#retry(connection, 'the second connection reached another server')
      connection.tracked = true
      this.#prove()
    } catch (error) {
      if (this.#connection !== connection) return
      if ((error as Error).name === 'ReplyError') this.#name(`Redis refuses the tracking (${summaryOf(error)})`)
      else this.#retry(connection, summaryOf(error))
    }
  }

  /** Asks for announcements; answers whether they come from the server that the store asks. */
  async #track(): Promise<boolean> {
    const prefixes = [...new Set(this.#listeners.map(({ prefix }) => prefix))].flatMap(prefix => ['PREFIX', prefix])
    const id = await this.#line.client('ID')
    await this.#line.call('CLIENT', 'TRACKING', 'ON', 'REDIRECT', id, 'BCAST', ...prefixes)
    const [announcing, asked] = await Promise.all([runIdOf(this.#line), runIdOf(this.#main)])
    await this.#line.subscribe(CHANNEL)
    return announcing !== null && announcing === asked
  }

  /** During a failover, or behind a balancer, the two connections can end at different servers. */
  #retry(connection: object, why: string): void {
    this.#name(why)
    const again = (): void => {
      if (this.#connection === connection) this.#startOver()
    }
    setTimeout(again, RETRY_PAUSE).unref()
  }

  /** What the other connection was lost with, this one may have missed, or it may be back at another server. */
  readonly #startOver = (): void => {
    this.#lose()
    if (this.#line.status === 'ready') this.#line.disconnect(true)
  }

  readonly #lose = (): void => {
    this.#connection = null
    this.#doubt('the connection is lost')
  }

  #doubt(why: string): void {
    for (const { listener } of this.#listeners) listener.switchOff()
    if (this.#believed) this.#name(why)
    this.#believed = false
  }

  #name(obstacle: string): void {
    if (obstacle !== this.#obstacle) this.#log.warn(`sessions are not ${this.#purpose}: ${obstacle}`)
    this.#obstacle = obstacle
  }

  #prove(): void {
    const connection = this.#connection
    if (connection?.tracked !== true) return
    const until = this.#clock.now() + this.#heartbeat
    const proofs = this.#listeners.map(({ listener }) => listener.beginProof())
    const complete = (): void => {
      if (this.#connection !== connection) return
      for (const proof of proofs) proof(until)
      this.#silence.refresh()
      if (!this.#believed) this.#log.info(`sessions are ${this.#purpose}`)
      this.#believed = true
      this.#obstacle = null
    }
    // A question that fails does so because its connection is lost.
    this.#line.ping().then(complete, () => undefined)
  }

  /** The keys of which something became; `null` when the whole database was emptied. */
  #passOn(keys: readonly Buffer[] | null): void {
    if (keys === null) {
      for (const { listener } of this.#listeners) listener.clear()
      return
    }
    for (const bytes of keys) {
      const key = bytes.toString()
      for (const { prefix, listener } of this.#listeners) {
        if (key.startsWith(prefix)) listener.evict(key.slice(prefix.length))
      }
    }
  }

  close(): void {
    clearInterval(this.#pulse)
    clearTimeout(this.#silence)
    this.#main.off('close', this.#lose)
    this.#main.off('ready', this.#startOver)
    this.#believed = false
    this.#lose()
    cut(this.#line)
  }
}

/** The id that a server gives itself at each start; `null` when it reports none. */
async function runIdOf(connection: Redis): Promise<string | null> {
  return /^run_id:(\w+)/m.exec(await connection.info('server'))?.[1] ?? null
}
