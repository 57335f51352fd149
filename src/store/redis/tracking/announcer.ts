import type { Redis } from 'ioredis'
import { cut } from '../connection/connections.ts'
import { summaryOf } from '../connection/fault.ts'
import { answerOf } from '../connection/silence.ts'

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
/** In milliseconds, before a connection is given up that reached another server than the store's. */
const RETRY_PAUSE = 500

/** Receives what servers announce. */
export interface AnnouncementListener {
  /** The keys of which something became; `null` when a whole database was emptied. */
  announced(keys: readonly Buffer[] | null): void
  /** Announcements are complete from now on: a proof can begin. */
  begun(): void
  /** Announcements may be missed until they begin again. */
  lost(why: string): void
  /** Why they cannot begin. */
  obstructed(why: string): void
}

/** All servers that announce the keys of a store. */
export interface Announcements {
  /** Whether all of them announce, as far as it is known. */
  readonly isTracked: boolean
  /** Resolves with `true` when everything is known that was done before the call, and with `false` when it is not proven. */
  prove(): Promise<boolean>
  close(): void
}

export interface AnnouncerOptions {
  /** The connection on which the store asks; what is remembered is believed only while both reach the same server. */
  main: Redis
  /** The connection on which Redis announces, and that carries nothing else. */
  line: Redis
  prefixes: readonly string[]
  listener: AnnouncementListener
}

/** The announcements of one server. */
export class Announcer implements Announcements {
  readonly #main: Redis
  readonly #line: Redis
  readonly #prefixes: readonly string[]
  readonly #listener: AnnouncementListener
  /** The present connection; another one, or `null`, as soon as either connection is lost. */
  #connection: { tracked: boolean } | null = null

  constructor({ main, line, prefixes, listener }: AnnouncerOptions) {
    this.#main = main
    this.#line = line
    this.#prefixes = prefixes
    this.#listener = listener
    line.on('ready', () => this.#begin())
    line.on('close', this.#lose)
    line.on('messageBuffer', (_channel, keys) => listener.announced(keys as unknown as Buffer[] | null))
    main.on('close', this.#lose)
    main.on('ready', this.#startOver)
  }

  get isTracked(): boolean {
    return this.#connection?.tracked === true
  }

  async prove(): Promise<boolean> {
    const connection = this.#connection
    if (connection?.tracked !== true) return false
    await answerOf(this.#line, this.#line.ping())
    return this.#connection === connection
  }

  async #begin(): Promise<void> {
    const connection = { tracked: false }
    this.#connection = connection
    try {
      const sameServer = await this.#track()
      if (this.#connection !== connection) return
      if (!sameServer) return this.#retry(connection, 'the second connection reached another server')
      connection.tracked = true
      this.#listener.begun()
    } catch (error) {
      if (this.#connection !== connection) return
      if ((error as Error).name === 'ReplyError')
        this.#listener.obstructed(`Redis refuses the tracking (${summaryOf(error)})`)
      else this.#retry(connection, summaryOf(error))
    }
  }

  /** Asks for announcements; answers whether they come from the server that the store asks. */
  async #track(): Promise<boolean> {
    const line = this.#line
    const id = await answerOf(line, line.client('ID'))
    const prefixes = this.#prefixes.flatMap(prefix => ['PREFIX', prefix])
    await answerOf(line, line.call('CLIENT', 'TRACKING', 'ON', 'REDIRECT', id, 'BCAST', ...prefixes))
    const [announcing, asked] = await Promise.all([runIdOf(line), runIdOf(this.#main)])
    await answerOf(line, line.subscribe(CHANNEL))
    return announcing !== null && announcing === asked
  }

  /** During a failover, or behind a balancer, the two connections can end at different servers. */
  #retry(connection: object, why: string): void {
    this.#listener.obstructed(why)
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
    this.#listener.lost('the connection is lost')
  }

  close(): void {
    this.#main.off('close', this.#lose)
    this.#main.off('ready', this.#startOver)
    this.#lose()
    cut(this.#line)
  }
}

/** The id that a server gives itself at each start; `null` when it reports none. */
async function runIdOf(connection: Redis): Promise<string | null> {
  return /^run_id:(\w+)/m.exec(await answerOf(connection, connection.info('server')))?.[1] ?? null
}
