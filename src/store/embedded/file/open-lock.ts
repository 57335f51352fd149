import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readdirSync, rmSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from '../../../base/refusal.ts'
import { fileAt } from './identity.ts'
import { keepRenewed, othersEnded } from './other-spaces.ts'
import { isOfOtherSpace, isRunning, ownFileName } from './running-process.ts'

/*
 * While one process opens an LMDB file, no other may change it. Opening reads the number of the last transaction and then
 * writes it into the memory that all processes share; a transaction that is committed in between is lost, although its
 * change was acknowledged. LMDB does not keep the two apart, so this file does:
 * - A process that opens the session file announces it by a file in one folder, and waits until no process changes the
 *   session file.
 * - A process that has the session file open keeps a file in another folder, whose length says whether the process changes the
 *   session file. The process says so, then checks whether another process opens: if so, it takes that back and waits. A length
 *   takes no space, so this also works on a full disk, where sessions can still be read and ended.
 * Each of the two writes its own file before it reads those of the others, so at least one of them sees the other. Files of
 * processes that have ended are ignored, and removed by the next process that finds them. All these processes are of one
 * container: `other-spaces.ts`.
 */

/** Lengths of the file of a process, in bytes; it is empty while the process waits to open the session file. */
const RESTING = 1
const CHANGING = 2

/** Milliseconds between two looks at what another process says. */
const POLL = 1
/** Milliseconds that an opening waits for the changes of other processes. */
const OPENING_WAIT = 10_000

/** Keeps the changes of this process and the openings of others apart. One for each open session file. */
export class OpenLock {
  readonly #openings: string
  readonly #path: string
  readonly #descriptor: number
  readonly #renewal: NodeJS.Timeout
  #changes = 0
  /** The session file, and which file of the disk it was when this process opened it. */
  #opened: { path: string; file: string | null } | null = null

  private constructor(openings: string, path: string) {
    this.#openings = openings
    this.#path = path
    this.#descriptor = openSync(path, 'wx', 0o600)
    this.#renewal = keepRenewed(path)
  }

  /** Opens the session file `path` by `open`, while no other process changes it. Waits for the others `wait` milliseconds. */
  static async opening<T>(
    path: string,
    open: () => T,
    wait = OPENING_WAIT,
  ): Promise<{ opened: T; openLock: OpenLock }> {
    const [openings, processes] = [`${path}-opening`, `${path}-processes`]
    for (const folder of [openings, processes]) mkdirSync(folder, { recursive: true, mode: 0o700 })
    const name = ownFileName(randomBytes(4).toString('hex'))
    const announcement = `${openings}/${name}`
    const openLock = new OpenLock(openings, `${processes}/${name}`)
    try {
      await othersEnded(path, openings, processes, wait)
      closeSync(openSync(announcement, 'wx', 0o600))
      await othersRest(path, processes, wait)
      // Before: what is open when this fails would stay open.
      openLock.#say(RESTING)
      const opened = open()
      openLock.#opened = { path, file: fileAt(path) }
      return { opened, openLock }
    } catch (fault) {
      openLock.close()
      throw fault
    } finally {
      rmSync(announcement, { force: true })
    }
  }

  /**
   * Runs a change when no process opens the session file, and holds openings off until it is settled. `isGivenUp` ends the
   * waiting without the change: the answer is then `undefined`.
   */
  async change<T>(work: () => Promise<T>, isGivenUp: () => boolean): Promise<T | undefined> {
    while (!isGivenUp()) {
      this.#begin()
      try {
        this.#checkHeld()
        if (!someRun(this.#openings)) return await work()
      } finally {
        this.#end()
      }
      await sleep(POLL)
    }
    return undefined
  }

  /** After the last change, and after the session file is closed. */
  close(): void {
    clearInterval(this.#renewal)
    closeSync(this.#descriptor)
    rmSync(this.#path, { force: true })
  }

  #begin(): void {
    // Only what was said counts: after a fault the next change says it again.
    if (this.#changes === 0) this.#say(CHANGING)
    this.#changes++
  }

  #end(): void {
    this.#changes--
    if (this.#changes === 0) this.#say(RESTING)
  }

  /**
   * Its file is removed when it was void: this process stood still for so long that it counted as ended. In another place the
   * session file is another one to the processes that open it next.
   */
  #checkHeld(): void {
    if (this.#opened !== null && fileAt(this.#opened.path) !== this.#opened.file)
      throw new Unavailable(
        `${this.#opened.path} was moved, removed or replaced while it was open; put it back, or restart the gateway`,
      )
    if (fstatSync(this.#descriptor).nlink > 0) return
    throw new Unavailable('another container has opened the store, while this process stood still; restart it')
  }

  #say(length: typeof RESTING | typeof CHANGING): void {
    ftruncateSync(this.#descriptor, length)
  }
}

async function othersRest(path: string, processes: string, wait: number): Promise<void> {
  const deadline = performance.now() + wait
  for (const name of ofThisSpace(processes)) {
    while (!forgotten(processes, name) && isChanging(`${processes}/${name}`)) {
      if (performance.now() > deadline) {
        const pid = name.split('-', 1)[0]
        throw new Error(`process ${pid} keeps changing ${path}: it hangs, or is stopped; end it, and start again`)
      }
      await sleep(POLL)
    }
  }
}

/** Not if its process has closed the session file meanwhile. */
const isChanging = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.size === CHANGING

const someRun = (folder: string): boolean => ofThisSpace(folder).some(name => !forgotten(folder, name))

const ofThisSpace = (folder: string): string[] => readdirSync(folder).filter(name => !isOfOtherSpace(name))

/** Removes what a process left that has ended; `false` when it runs. */
function forgotten(folder: string, name: string): boolean {
  if (isRunning(name)) return false
  rmSync(`${folder}/${name}`, { force: true })
  return true
}
