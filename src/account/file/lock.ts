import { open, rm } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'

const TRIES = 100
/** Milliseconds: five seconds in all; an edit takes some hundredths of a second. */
const PAUSE = 50

/** Runs work while no other process does the same for this file. The lock is a file beside it. */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`
  await acquire(lock)
  try {
    return await work()
  } finally {
    await rm(lock, { force: true })
  }
}

async function acquire(lock: string): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      return await (await open(lock, 'wx', 0o600)).close()
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== 'EEXIST') throw fault
    }
    await wait(PAUSE)
  }
  throw new Error(
    `${lock} exists: another command is changing this file; if no command is running, remove the lock and try again`,
  )
}
