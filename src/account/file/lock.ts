import { randomBytes } from 'node:crypto'
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../../base/clock.ts'
import { atPlace } from '../../base/place-fault.ts'
import { processSpace } from '../../base/process-space.ts'
import { Unavailable } from '../../base/refusal.ts'
import { createTaskQueue, type TaskQueue } from '../../base/task-queue.ts'

const TRIES = 100
/** Milliseconds: five seconds in all; an edit takes some hundredths of a second. */
const PAUSE = 50
/** Edits of one file that wait for their turn in this process. */
const WAITING = 64
/**
 * Milliseconds. An older lock is void: its holder may be in another container or on another machine, of
 * which nothing is known, or it may be a lock of an earlier version or of another user, which names no holder.
 */
const ABANDONED = 60_000

/** Whether this process still holds the lock. Called right before the file is replaced. */
export type IsHeld = () => boolean

const queues = new Map<string, TaskQueue>()

/**
 * Runs work while no other process does the same for this file. The lock is a file beside it that names its holder, so that
 * the lock of a process that was killed is removed by the next one that wants it. Fails with `BUSY` or `Unavailable` when
 * the others take too long.
 */
export async function withLock<T>(path: string, work: (isHeld: IsHeld) => Promise<T>, tries = TRIES): Promise<T> {
  const enqueue = queues.get(path) ?? createTaskQueue(1, WAITING)
  queues.set(path, enqueue)
  return enqueue(async () => {
    const lock = `${path}.lock`
    const own = await acquire(lock, tries)
    try {
      return await work(() => readLock(lock) === own)
    } finally {
      if (readLock(lock) === own) rmSync(lock, { force: true })
    }
  })
}

/** Returns the text of the lock that this process now holds. */
async function acquire(lock: string, tries: number): Promise<string> {
  const own = `${JSON.stringify(thisHolder())}\n`
  for (let tried = 0; tried < tries; tried++) {
    if (create(lock, own) || replaceVoid(lock, own)) return own
    await wait(PAUSE)
  }
  throw new Unavailable(
    `${lock} exists: another process is changing this file; if no process is, remove the lock and try again`,
  )
}

/** `false` if there is a lock. */
function create(lock: string, text: string): boolean {
  let descriptor: number
  try {
    descriptor = openSync(lock, 'wx', 0o600)
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw fault
  }
  try {
    atPlace(lock, () => writeSync(descriptor, text))
  } catch (fault) {
    // As on a full disk. Left there without a holder, it would look like the lock of another process.
    rmSync(lock, { force: true })
    throw fault
  } finally {
    closeSync(descriptor)
  }
  return true
}

/**
 * Puts this lock in the place of one whose holder is gone; `false` if that may still be there. Of several processes that
 * find the same void lock the last one has it in the end, and the others find that before they replace the file (`IsHeld`).
 */
function replaceVoid(lock: string, text: string): boolean {
  if (!isVoid(lock)) return false
  const temporary = `${lock}.${randomBytes(6).toString('hex')}.tmp`
  create(temporary, text)
  renameSync(temporary, lock)
  return true
}

interface Holder {
  pid: number
  /** When the process started: ids of processes are used again. */
  started: string
  /** The machine, its start, and the space of its process ids: a container has one of its own. */
  machine: string
  /** No two locks have the same text. */
  nonce: string
}

const thisHolder = (): Holder => ({
  pid: process.pid,
  started: startOf(process.pid) ?? '',
  machine: thisMachine(),
  nonce: randomBytes(9).toString('base64url'),
})

function isVoid(lock: string): boolean {
  const text = readLock(lock)
  const found = statSync(lock, { throwIfNoEntry: false })
  if (text === null || found === undefined) return false
  const holder = holderIn(text)
  if (holder !== null && holder.machine === thisMachine() && !isRunning(holder)) return true
  // A time that lies ahead was written before the clock was set back.
  return Math.abs(systemClock.now() - found.mtimeMs) > ABANDONED
}

function holderIn(text: string): Holder | null {
  try {
    return JSON.parse(text) as Holder
  } catch {
    return null
  }
}

function isRunning({ pid, started }: Holder): boolean {
  try {
    process.kill(pid, 0)
  } catch (fault) {
    // A process of another user may not be signalled, and runs.
    if ((fault as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  return startOf(pid) === started
}

/**
 * When a process started, in ticks since the start of the machine (proc(5)); `null` for one that has ended and only waits
 * for its parent. Empty where the system does not tell: there the process id alone decides.
 */
function startOf(pid: number): string | null {
  const stat = textOf(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  // The name of the program stands in parentheses and may contain anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' ? null : (fields[19] ?? '')
}

const thisMachine = (): string => `${hostname()} ${processSpace()}`

/** Empty on a system without such a file. */
function textOf(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

/** `null` without a lock. One of another user, such as root, may not be read: then it is a lock that names no holder. */
function readLock(lock: string): string | null {
  try {
    return readFileSync(lock, 'utf8')
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    if (code === 'EACCES') return ''
    throw fault
  }
}
