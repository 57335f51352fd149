import { faultText } from '../../base/fault-text.ts'
import type { Logger } from '../../base/log/log.ts'
import { createTaskQueue } from '../../base/task-queue.ts'
import type { DirectorySettings } from '../../settings/directory.ts'
import { Connection } from './connection.ts'
import { type Bound, DirectoryResult } from './operations.ts'
import { type DirectoryServer, readServer } from './socket.ts'
import { NoAnswer, TimeLimit } from './time-limit.ts'

/** A connection on which the account of the gateway is bound, and the signal that ends what is done with it. */
export interface Asking {
  connection: Pick<Connection, 'search'>
  signal: AbortSignal
}

/** The account of the gateway may not bind. */
export class ServiceRefused extends DirectoryResult {}

/** Connections of this process for searches, and for binds of users; and how many of each may wait for one. */
const CONNECTIONS = 8
const WAITING = 64
/** A server that failed is asked after the others for so long, in milliseconds. */
const AFTER_OTHERS = 30_000
/** busy, unavailable (RFC 4511, appendix A): another server may answer. */
const NOT_NOW: ReadonlySet<number> = new Set([51, 52])

export interface DirectoryOptions extends Pick<DirectorySettings, 'servers' | 'bind'> {
  /** PEM text. */
  ca: string | undefined
  log: Pick<Logger, 'warn'>
}

/**
 * The servers of a directory. A search goes to the first that answers: a connection that turns out to be closed costs one more,
 * then the next server is asked. A password goes to one server, and is never sent again. As long as there is another server to
 * ask, one gets half of the time that is left.
 */
export class Directory {
  readonly #servers: readonly DirectoryServer[]
  readonly #bind: DirectorySettings['bind']
  readonly #log: DirectoryOptions['log']
  readonly #idle = new Set<Connection>()
  readonly #failedAt = new Map<DirectoryServer, number>()
  readonly #searches = createTaskQueue(CONNECTIONS, WAITING)
  readonly #binds = createTaskQueue(CONNECTIONS, WAITING)
  #isClosed = false

  constructor({ servers, bind, ca, log }: DirectoryOptions) {
    this.#servers = servers.map(url => readServer(url, ca))
    this.#bind = bind
    this.#log = log
  }

  /**
   * Answers what `work` answers. It has a connection of its own, only reads, and may be done again. Fails with `DirectoryResult`
   * for what a server answers, with another `Error` if none does within `limit` milliseconds.
   */
  search<T>(limit: number, work: (asking: Asking) => Promise<T>): Promise<T> {
    const time = new TimeLimit(limit)
    return this.#searches(async () => {
      const faults: unknown[] = []
      const kept = this.#keptConnection()
      if (kept !== null) {
        try {
          return await time.step('half of it', signal => this.#with(kept, signal, work))
        } catch (fault) {
          if (isAnswer(fault)) throw fault
          faults.push(fault)
          this.#dropFrom(kept.server)
          // A server that has closed a connection may well accept another one.
          if (fault instanceof NoAnswer) this.#failed(kept.server, fault)
        }
      }
      return this.#firstOf(time, faults, (server, signal) => this.#ask(server, signal, work))
    })
  }

  /** Binds a user on a connection of its own. Fails as `search` does. */
  bind(limit: number, dn: string, password: string): Promise<Bound> {
    const time = new TimeLimit(limit)
    return this.#binds(async () => {
      const connection = await this.#firstOf(time, [], Connection.open)
      try {
        return await time.step('all that is left', signal => connection.bind(dn, password, signal))
      } catch (fault) {
        if (isAnswer(fault)) throw fault
        this.#failed(connection.server, fault)
        throw at(connection.server, fault)
      } finally {
        connection.close()
      }
    })
  }

  /** What each server answers, or the fault. */
  askEach<T>(limit: number, work: (asking: Asking) => Promise<T>): { url: string; answer: Promise<T> }[] {
    return this.#servers.map(server => ({
      url: server.url,
      answer: new TimeLimit(limit).step('all that is left', signal => this.#ask(server, signal, work)),
    }))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const connection of this.#idle) connection.close()
    this.#idle.clear()
  }

  /** Tries one server after the other; fails with the faults of all of them. */
  async #firstOf<T>(
    time: TimeLimit,
    faults: unknown[],
    work: (server: DirectoryServer, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const servers = this.#inOrder()
    for (const server of servers) {
      try {
        const part = server === servers.at(-1) ? 'all that is left' : 'half of it'
        return await time.step(part, signal => work(server, signal))
      } catch (fault) {
        if (isAnswer(fault)) throw fault
        this.#failed(server, fault)
        faults.push(at(server, fault))
      }
    }
    throw new Error(faults.map(faultText).join('; '))
  }

  async #ask<T>(server: DirectoryServer, signal: AbortSignal, work: (asking: Asking) => Promise<T>): Promise<T> {
    const connection = await Connection.open(server, signal)
    try {
      await connection.bind(this.#bind.dn, this.#bind.password, signal)
    } catch (fault) {
      connection.close()
      throw fault instanceof DirectoryResult ? new ServiceRefused(fault.code, fault.diagnostic, fault.policy) : fault
    }
    return this.#with(connection, signal, work)
  }

  async #with<T>(connection: Connection, signal: AbortSignal, work: (asking: Asking) => Promise<T>): Promise<T> {
    try {
      const answer = await work({ connection, signal })
      this.#keep(connection)
      return answer
    } catch (fault) {
      if (isAnswer(fault)) this.#keep(connection)
      else connection.close()
      throw fault
    }
  }

  #keep(connection: Connection): void {
    if (this.#isClosed || !connection.isOpen) connection.close()
    else this.#idle.add(connection)
  }

  /** The one that was used last: the others may have been closed on the way. */
  #keptConnection(): Connection | null {
    for (const connection of [...this.#idle].reverse()) {
      this.#idle.delete(connection)
      if (connection.isOpen) return connection
    }
    return null
  }

  #dropFrom(server: DirectoryServer): void {
    for (const connection of this.#idle) {
      if (connection.server !== server) continue
      connection.close()
      this.#idle.delete(connection)
    }
  }

  #failed(server: DirectoryServer, err: unknown): void {
    if (!this.#hasFailed(server)) this.#log.warn({ err, url: server.url }, 'a server of the directory does not answer')
    this.#failedAt.set(server, performance.now())
  }

  #hasFailed(server: DirectoryServer): boolean {
    return performance.now() - (this.#failedAt.get(server) ?? Number.NEGATIVE_INFINITY) < AFTER_OTHERS
  }

  #inOrder(): DirectoryServer[] {
    const failed = new Set(this.#servers.filter(server => this.#hasFailed(server)))
    return [...this.#servers.filter(server => !failed.has(server)), ...failed]
  }
}

/** Whether a server has answered the question, so that another one would answer the same. */
const isAnswer = (fault: unknown): boolean => fault instanceof DirectoryResult && !NOT_NOW.has(fault.code)

const at = (server: DirectoryServer, fault: unknown): Error => new Error(server.url, { cause: fault })
