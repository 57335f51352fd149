import { statfsSync } from 'node:fs'

/*
 * Seen in: lmdb 3.5.6. When a write fails, its `mdb.c` prints the message into 100 bytes, which are too few for some numbers: the
 * process dies of its damaged memory (SIGABRT).
 * Upstream: no issue is known.
 * Costs: 1.4 µs for each change that adds something, beside a flush of some milliseconds.
 * Without it: a full disk can kill a worker, and entries of the journal that were not stored yet are lost.
 * Until: lmdb bounds that message.
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
  const message = `${folder}: ${shown[0]} MiB are free, and logins need ${shown[1]} MiB; free space on the disk`
  throw Object.assign(new Error(message), { code: DISK_FULL, syscall: 'statfs' })
}
