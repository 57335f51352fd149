import { statfsSync } from 'node:fs'

/*
 * LMDB must not meet a full disk: when a write fails, lmdb 3.5.6 prints its message into 100 bytes, which are too few for some
 * numbers, and the process dies of its damaged memory. So nothing is added when the disk is about to be full.
 */

/** Free bytes that it takes to add something: more than all workers write before the next of them looks. */
const NEEDED = 16 * 2 ** 20
/** Of a small disk, this part is enough. */
const NEEDED_PART = 1 / 16

/** The error number ENOSPC, by which LMDB reports a full disk. */
const DISK_FULL = 28

/** Throws an error with the code of a full disk if its free space is too small to add something. */
export function checkFreeSpace(folder: string): void {
  const { bavail, blocks, bsize } = statfsSync(folder)
  const [free, size] = [bavail * bsize, blocks * bsize]
  const needed = Math.min(NEEDED, size * NEEDED_PART)
  if (free >= needed) return
  const shown = [free, needed].map(bytes => (Math.floor((10 * bytes) / 2 ** 20) / 10).toFixed(1))
  throw Object.assign(new Error(`${folder}: ${shown[0]} MiB are free, and logins need ${shown[1]} MiB`), {
    code: DISK_FULL,
  })
}
