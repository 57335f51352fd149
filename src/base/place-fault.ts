import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/* Faults of the operating system that have to do with the place of a file or folder: what each means, and what to do about it. */

/** The codes of a disk that takes no more. */
export const DISK_FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT'])
const NOT_ALLOWED: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM'])

/** What went wrong, without its place, and the remedy; `null` for a fault of another kind. */
export function placeFaultText(fault: unknown): string | null {
  const { code, path, syscall } = fault as NodeJS.ErrnoException
  if (path === undefined) return null
  if (code === 'ENOTDIR' || (code === 'EEXIST' && syscall === 'mkdir'))
    return `cannot be used (${code}): ${nearestExisting(path)} is not a folder; name another place, or move this file`
  if (DISK_FULL.has(code)) return `cannot be written (${code}): its disk is full; free space on it`
  if (code === 'EFBIG') return 'cannot be written (EFBIG): files of this process are limited in size; raise `ulimit -f`'
  if (code === 'EROFS') return 'cannot be written (EROFS): its file system is read-only; mount it writable'
  return NOT_ALLOWED.has(code) ? `this user has no permission (${code}): ${remedyOfRights(path)}` : null
}

/** Runs the work; a fault of it names this place instead of none, or of a temporary name. */
export function atPlace<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (fault) {
    throw Object.assign(fault as Error, { path })
  }
}

function remedyOfRights(path: string): string {
  const nearest = nearestExisting(path)
  const owner = statSync(nearest, { throwIfNoEntry: false })?.uid
  // Not every system has numbers of users.
  const own = process.geteuid?.()
  if (owner === undefined || own === undefined || owner === own) return `change the permissions of ${nearest}`
  return `${nearest} belongs to uid ${owner}, and this is uid ${own}; run this as its owner, or change the permissions`
}

/** The path, or the nearest folder above it that exists. */
export function nearestExisting(path: string): string {
  let nearest = path
  while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest)
  return nearest
}
