import { randomBytes } from 'node:crypto'
import { type FileHandle, link, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/* Files with secrets in them, written so that a reader finds the old text or the new one, whole, and a crash loses neither. */

/** Replaces a file; its owner stays, so that a command run as root does not take it from the gateway. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const before = await stat(path).catch(() => null)
  await viaTemporary(path, text, async (temporary, handle) => {
    const { uid } = await handle.stat()
    if (before !== null && before.uid !== uid) await handle.chown(before.uid, before.gid)
    await rename(temporary, path)
  })
}

/** Creates a file. `false`, and nothing changed, when there is one. */
export async function createFile(path: string, text: string): Promise<boolean> {
  try {
    await viaTemporary(path, text, temporary => link(temporary, path))
    return true
  } catch (fault) {
    if (isTaken(fault)) return false
    throw fault
  }
}

async function viaTemporary(
  path: string,
  text: string,
  putInPlace: (temporary: string, handle: FileHandle) => Promise<void>,
): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
      await putInPlace(temporary, handle)
    } finally {
      await handle.close()
    }
  } finally {
    await rm(temporary, { force: true })
  }
  const folder = await open(dirname(path), 'r')
  await folder.sync().finally(() => folder.close())
}

const LOCK_TRIES = 100
/** Milliseconds: five seconds in all, while an edit takes some hundredths of one. */
const LOCK_PAUSE = 50

/** Runs work while no other process does the same for this file; the sign of it is a file beside it. */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`
  await take(lock)
  try {
    return await work()
  } finally {
    await rm(lock, { force: true })
  }
}

async function take(lock: string): Promise<void> {
  for (let tries = 0; tries < LOCK_TRIES; tries++) {
    try {
      return await (await open(lock, 'wx', 0o600)).close()
    } catch (fault) {
      if (!isTaken(fault)) throw fault
    }
    await wait(LOCK_PAUSE)
  }
  throw new Error(
    `${lock} is there: another command is changing this file; if none is running, remove the lock and try again`,
  )
}

const isTaken = (fault: unknown): boolean => (fault as NodeJS.ErrnoException).code === 'EEXIST'
