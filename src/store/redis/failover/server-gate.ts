import type { Redis } from 'ioredis'
import type { CheckedServer, Gate } from '../commands/send-command.ts'
import { answerOf } from '../connection/silence.ts'

/*
 * A connection that comes back may have reached another server, or the same one with other data: a replica that took
 * over, a server that was restarted from a snapshot. So no question goes out on a new connection before it is known which
 * server answers there, and, where it is another one, before that server was prepared.
 */

/** Before a server that could not be prepared is tried again, in milliseconds. */
const RETRY_PAUSE = 100

export interface Preparations {
  /** Has to resolve before another server is asked. Gets its id, or `null` if the server reports none. */
  prepare(id: string | null): Promise<void>
  /** Has to resolve before the server is asked again that was prepared last. */
  resume(): Promise<void>
}

/** The gate of one server, or of the master that Sentinels name. */
export class ServerGate implements Gate {
  server: CheckedServer | null = null
  answering: CheckedServer | null = null
  readonly #client: Redis
  readonly #preparations: Preparations
  #connection: object = {}
  #prepared: string | null = null
  #waiting: ((isOpen: boolean) => void)[] = []

  constructor(client: Redis, preparations: Preparations) {
    this.#client = client
    this.#preparations = preparations
    client.on('close', () => {
      this.#connection = {}
      this.server = null
      this.#release(false)
    })
    client.on('ready', () => {
      this.answering = null
      void this.#check()
    })
    if (client.status === 'ready') void this.#check()
  }

  whenOpen(then: (isOpen: boolean) => void): void {
    this.#waiting.push(then)
  }

  async #check(): Promise<void> {
    const connection = {}
    this.#connection = connection
    while (this.#connection === connection) {
      const id = await this.#prepare().catch(() => null)
      if (this.#connection !== connection) return
      if (id !== null) return this.#open(id)
      await new Promise(resolve => setTimeout(resolve, RETRY_PAUSE).unref())
    }
  }

  async #prepare(): Promise<string> {
    const id = await identityOf(this.#client)
    const before = this.#prepared
    // What fails half-way is done again as for another server.
    this.#prepared = null
    if (id !== UNKNOWN && id === before) await this.#preparations.resume()
    else await this.#preparations.prepare(id === UNKNOWN ? null : id)
    this.#prepared = id
    return id
  }

  #open(id: string): void {
    this.server = { id }
    this.answering = this.server
    this.#release(true)
  }

  #release(isOpen: boolean): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const then of waiting) then(isOpen)
  }
}

/** Of a server that does not report its id: it counts as another one each time. */
const UNKNOWN = 'unknown'

/** `run_id` changes with every start; the id of the replication with every promotion, also back to a server known before. */
export async function identityOf(client: Redis): Promise<string> {
  const infos = await Promise.all(
    ['server', 'replication'].map(section => answerOf(client, client.info(section))),
  ).catch(error => {
    if ((error as Error).name === 'ReplyError') return [] as string[]
    throw error
  })
  const [run] = /^run_id:\w+/m.exec(infos[0] ?? '') ?? []
  const [replication] = /^master_replid:\w+/m.exec(infos[1] ?? '') ?? []
  return run === undefined || replication === undefined ? UNKNOWN : `${run} ${replication}`
}
