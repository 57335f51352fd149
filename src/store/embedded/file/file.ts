import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Database, open, type RootDatabase } from 'lmdb'
import { Unavailable } from '../../../refusal.ts'

/*
 * The only file that knows LMDB: one memory-mapped file, shared by all processes that open it. What LMDB does, and this
 * store builds on:
 * - One process writes at a time, behind a lock that the kernel releases when its holder dies. Changes are queued to a
 *   thread; those of the same turn of the event loop share a transaction, in which the verbs run here, one by one.
 * - Readers never wait. Each sees the snapshot of its read transaction, so every question begins a new one.
 * - A commit is visible to every process and survives the death of ours; it survives a power loss when it is flushed,
 *   some milliseconds later. After a power loss the file stands at its last flush.
 * - When the file outgrows the map, the process that meets it maps twice as much and goes on; what limits the file is the
 *   disk. Space that was freed is used again; the file does not shrink.
 */

const FILE_NAME = 'sessions.mdb'

/** Longest key of a 4 KiB page, in bytes. */
export const MAX_KEY_BYTES = 1978

/** Address space, not memory or disk: room for some millions of sessions before anything has to be mapped anew. */
const MAP_SIZE = 2 ** 32
/** Named tables that may exist: those of today, and room for indexes and counters. */
const MAX_TABLES = 32
/** Processes that may have the file open, old workers that drain included. */
const MAX_READERS = 1024
/** Changes that may wait for the lock; beyond it the store is as good as stuck. */
const MAX_WAITING = 10_000

const FILE_OPTIONS = {
  noSubdir: true,
  mapSize: MAP_SIZE,
  maxDbs: MAX_TABLES,
  maxReaders: MAX_READERS,
  // Otherwise each turn's batch has a promise of its own without a handler: a failing commit would end the process.
  eventTurnBatching: false,
  // Missing from the library's types.
  permissionsMode: 0o600,
}

/** Files that are open in this process: opened twice, LMDB's two handles would wait for each other's lock for ever. */
const opened = new Map<string, { root: RootDatabase; users: number }>()

function acquire(path: string): RootDatabase {
  const shared = opened.get(path) ?? { root: open({ ...FILE_OPTIONS, path }), users: 0 }
  shared.users++
  opened.set(path, shared)
  return shared.root
}

async function release(path: string): Promise<void> {
  const shared = opened.get(path)
  if (shared === undefined || --shared.users > 0) return
  opened.delete(path)
  await shared.root.close()
}

export type Rows = Database<string, Buffer>
export type BinaryRows = Database<Buffer, Buffer>

export class EmbeddedFile {
  readonly path: string
  readonly #root: RootDatabase
  readonly #timeout: number
  readonly #underWay = new Set<Promise<unknown>>()
  #closed: Promise<void> | null = null

  /** Opens the file, created when it is absent. `timeout` is how long a change may take, in milliseconds. */
  constructor(folder: string, timeout: number) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.path = resolve(folder, FILE_NAME)
    this.#timeout = timeout
    this.#root = acquire(this.path)
  }

  /** Has the tables that `open` opens, and that are not there yet, made in one transaction: each costs a flush otherwise. */
  creating<T>(open: () => T): T {
    return this.#root.transactionSync(open)
  }

  /** A table of texts under binary keys. */
  table(name: string): Rows {
    return this.#root.openDB<string, Buffer>(name, { encoding: 'string', keyEncoding: 'binary' })
  }

  /** A table of bytes under binary keys. */
  binaryTable(name: string): BinaryRows {
    return this.#root.openDB<Buffer, Buffer>(name, { encoding: 'binary', keyEncoding: 'binary' })
  }

  /** Asks in a snapshot that holds every change acknowledged so far, by whichever process. `ask` must not wait. */
  read<T>(ask: () => T): T {
    if (this.#closed !== null) throw new Unavailable('the session file is closed')
    try {
      this.#root.resetReadTxn()
      return ask()
    } catch (error) {
      throw asUnavailable(error)
    }
  }

  /**
   * Runs a verb alone among all processes and resolves when its changes are committed, all or none. A verb that was
   * given up before its turn came does not happen later. `verb` must not wait.
   */
  write<T>(verb: () => T): Promise<T> {
    return this.#within(verb, committed => committed)
  }

  /** The same, but resolves when the changes are on the disk. */
  writeThrough<T>(verb: () => T): Promise<T> {
    return this.#within(verb, async committed => {
      // Requested before anything else is queued, so that the flush covers this change.
      const flushed = this.#root.flushed.then(() => undefined)
      const [result] = await Promise.all([committed, flushed])
      return result
    })
  }

  async #within<T>(verb: () => T, acknowledge: (committed: Promise<T>) => Promise<T>): Promise<T> {
    if (this.#closed !== null) throw new Unavailable('the session file is closed')
    if (this.#underWay.size >= MAX_WAITING) throw new Unavailable('too many changes wait for the session file')
    let givenUp = false
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        givenUp = true
        reject(new Unavailable(`the session file took no change for ${this.#timeout} ms`))
      }, this.#timeout)
    })
    try {
      const change = acknowledge(this.#root.transaction(() => (givenUp ? (undefined as T) : verb())))
      this.#track(change)
      return await Promise.race([change, late])
    } catch (error) {
      throw asUnavailable(error)
    } finally {
      clearTimeout(timer)
    }
  }

  #track(change: Promise<unknown>): void {
    this.#underWay.add(change)
    const done = () => this.#underWay.delete(change)
    change.then(done, error => {
      done()
      // A failed commit carries a second rejection of the same fault; left alone it would end the process.
      Promise.resolve(error.commitError).catch(() => undefined)
    })
  }

  /** Lets the changes under way finish, then closes the file. */
  close(): Promise<void> {
    this.#closed ??= Promise.allSettled(this.#underWay).then(() => release(this.path))
    return this.#closed
  }
}

function asUnavailable(error: unknown): Unavailable {
  if (error instanceof Unavailable) return error
  return new Unavailable('the session file failed', error)
}
