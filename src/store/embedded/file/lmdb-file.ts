import { existsSync, mkdirSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { type Database, open, type RootDatabase } from 'lmdb'
import { within } from '../../../base/deadline.ts'
import { Unavailable } from '../../../base/refusal.ts'
import { checkFreeSpace } from '../../../workarounds/lmdb-full-disk.ts'
import { lastCommitOf } from '../../../workarounds/lmdb-last-commit.ts'
import { keepQuiet } from '../../../workarounds/lmdb-quiet-commits.ts'
import { SESSIONS_FILE } from './identity.ts'
import { OpenLock } from './open-lock.ts'
import { WriteOutage, type WriteOutageOptions } from './write-outage.ts'

/*
 * The only file that knows LMDB: a memory-mapped file, shared by all processes that open it. What LMDB does, and this
 * store builds on:
 * - One process writes at a time, behind a lock that the kernel releases when its holder dies. Changes are queued to a
 *   thread; those of the same turn of the event loop share a transaction, in which the verbs run here, one by one.
 * - Readers never wait. Each sees the snapshot of its read transaction, so every question begins a new one.
 * - A commit is on the disk before it is visible to any process: it survives the death of ours and a power loss.
 * - What one process commits while another one opens the file can be lost: `open-lock.ts` keeps the two apart.
 * - When the file outgrows the map, the process that meets it maps twice as much and goes on; what limits the file is the
 *   disk. Space that was freed is used again; the file does not shrink.
 */

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
  // Flushing while the next process already changes is faster with many workers. But LMDB then repairs the numbers of the
  // file outside of the lock after a process died flushing, and can take back a change of another that was acknowledged.
  overlappingSync: false,
  // Missing from the library's types.
  permissionsMode: 0o600,
}

interface Opened {
  root: RootDatabase
  openLock: OpenLock
}

/** Files that are open in this process: opened twice, LMDB's two handles would wait for each other's lock for ever. */
const opened = new Map<string, { file: Promise<Opened>; users: number }>()

async function acquire(path: string): Promise<Opened> {
  const shared = opened.get(path) ?? { file: openFile(path), users: 0 }
  shared.users++
  opened.set(path, shared)
  try {
    return await shared.file
  } catch (error) {
    opened.delete(path)
    throw error
  }
}

async function openFile(path: string): Promise<Opened> {
  // A file that is there can be opened, and read, on a full disk.
  if (!existsSync(path)) checkFreeSpace(dirname(path))
  const { opened: root, openLock } = await OpenLock.opening(path, () => open({ ...FILE_OPTIONS, path }))
  keepQuiet(root)
  return { root, openLock }
}

async function release(path: string): Promise<void> {
  const shared = opened.get(path)
  if (shared === undefined || --shared.users > 0) return
  opened.delete(path)
  const { root, openLock } = await shared.file
  await root.close()
  openLock.close()
}

export type Rows = Database<string, Buffer>
export type BinaryRows = Database<Buffer, Buffer>

export class EmbeddedFile {
  readonly path: string
  /** The changes that failed. */
  readonly outage: WriteOutage
  readonly #root: RootDatabase
  readonly #openLock: OpenLock
  readonly #timeout: number
  readonly #underWay = new Set<Promise<unknown>>()
  /** The number of the last commit when a change failed: one that changes nothing gets no number. */
  #failedAt = 0
  #closed: Promise<void> | null = null

  private constructor(path: string, { root, openLock }: Opened, timeout: number, watched: WriteOutageOptions) {
    this.path = path
    this.outage = new WriteOutage(watched)
    this.#root = root
    this.#openLock = openLock
    this.#timeout = timeout
  }

  /** Opens a file, created when it is absent. `timeout` is how long a change may take, in milliseconds. */
  static async open(
    folder: string,
    timeout: number,
    name = SESSIONS_FILE,
    watched: WriteOutageOptions = {},
  ): Promise<EmbeddedFile> {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const path = resolve(folder, name)
    return new EmbeddedFile(path, await acquire(path), timeout, watched)
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
    if (this.#closed !== null) throw new Unavailable(`${basename(this.path)} is closed`)
    try {
      this.#root.resetReadTxn()
      return ask()
    } catch (error) {
      throw asUnavailable(this.path, error)
    }
  }

  /**
   * Runs a verb alone among all processes and resolves when its changes are committed and on the disk, all or none. A verb
   * that was given up before its turn came does not happen later. `verb` must not wait.
   */
  write<T>(verb: () => T): Promise<T> {
    return this.#change(isGivenUp => this.#transact(verb, isGivenUp))
  }

  /**
   * The same for a verb that adds something, which is refused while the disk has too little space. What ends or removes
   * something goes on then, in pages of the file that were freed.
   */
  add<T>(verb: () => T): Promise<T> {
    return this.#change(isGivenUp => {
      checkFreeSpace(dirname(this.path))
      return this.#transact(verb, isGivenUp)
    })
  }

  #transact<T>(verb: () => T, isGivenUp: () => boolean): Promise<T> {
    return this.#root.transaction(() => (isGivenUp() ? (undefined as T) : verb()))
  }

  /** The same, for what makes the tables that are not there yet: in one transaction, since each costs a flush otherwise. */
  creating<T>(verb: () => T): Promise<T> {
    return this.#change(async () => this.#root.transactionSync(verb))
  }

  async #change<T>(transact: (isGivenUp: () => boolean) => Promise<T>): Promise<T> {
    if (this.#closed !== null) throw new Unavailable(`${basename(this.path)} is closed`)
    if (this.#underWay.size >= MAX_WAITING) throw new Unavailable(`too many changes wait for ${basename(this.path)}`)
    let givenUp = false
    try {
      const isGivenUp = () => givenUp
      const change = this.#openLock.change(() => transact(isGivenUp), isGivenUp)
      this.#track(change)
      // Without a result only when it was given up, and then this waits no longer.
      return (await within<T | undefined>(this.#timeout, change, () => {
        givenUp = true
        throw new Unavailable(`${basename(this.path)} took no change for ${this.#timeout} ms`)
      })) as T
    } catch (error) {
      throw asUnavailable(this.path, error)
    }
  }

  #track(change: Promise<unknown>): void {
    this.#underWay.add(change)
    const done = () => this.#underWay.delete(change)
    change.then(
      () => {
        done()
        if (this.outage.warning !== null && this.#lastCommit() > this.#failedAt)
          this.outage.succeeded(basename(this.path))
      },
      error => {
        done()
        void this.#failed(error)
      },
    )
  }

  /** Notes a fault of the file. What a verb throws does not count, and neither does a change that was given up. */
  async #failed(error: { commitError?: Promise<unknown>; code?: unknown }): Promise<void> {
    if (error.commitError === undefined && typeof error.code !== 'number') return
    // A failed commit carries a second rejection with its cause; left alone it would end the process.
    const cause = await Promise.resolve(error.commitError).catch((fault: unknown) => fault)
    this.#failedAt = this.#lastCommit()
    this.outage.failed(basename(this.path), (cause ?? error) as { code?: unknown; message?: string })
  }

  #lastCommit(): number {
    return lastCommitOf(this.#root)
  }

  /** Lets the changes under way finish, then closes the file. */
  close(): Promise<void> {
    this.#closed ??= Promise.allSettled(this.#underWay).then(() => release(this.path))
    return this.#closed
  }
}

function asUnavailable(path: string, error: unknown): Unavailable {
  if (error instanceof Unavailable) return error
  return new Unavailable(`${basename(path)} failed`, error)
}
