import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

/*
 * Files with secrets in them, which only their owner reads. They are written under another name and put in place when they
 * are on the disk: a reader finds the old text or the new one, whole, and a crash loses neither.
 */

/**
 * Replaces a file, or creates it. Its owner stays, so that a command run as root does not take it from the gateway. If
 * `isCurrent`, called right before, returns `false`, nothing changes; then this returns `false`, too.
 */
export function replaceFile(path: string, text: string | Buffer, isCurrent = (): boolean => true): boolean {
  const before = statSync(path, { throwIfNoEntry: false })
  return viaTemporary(path, text, (temporary, descriptor) => {
    if (before !== undefined && before.uid !== fstatSync(descriptor).uid) fchownSync(descriptor, before.uid, before.gid)
    if (!isCurrent()) return false
    renameSync(temporary, path)
    return true
  })
}

/** Creates a file. `false`, and nothing changed, when it exists: of several processes at once exactly one creates it. */
export function createFile(path: string, text: string): boolean {
  try {
    // Unlike a rename, a link never replaces a file.
    return viaTemporary(path, text, temporary => {
      linkSync(temporary, path)
      return true
    })
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw fault
  }
}

/** `putInPlace` answers whether it did. */
function viaTemporary(
  path: string,
  text: string | Buffer,
  putInPlace: (temporary: string, descriptor: number) => boolean,
): boolean {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  let isDone = false
  try {
    isDone = withDescriptor(openSync(temporary, 'wx', 0o600), descriptor => {
      writeFileSync(descriptor, text)
      fsyncSync(descriptor)
      return putInPlace(temporary, descriptor)
    })
  } finally {
    rmSync(temporary, { force: true })
  }
  // The new name is on the disk only after the folder is.
  if (isDone) withDescriptor(openSync(dirname(path), 'r'), fsyncSync)
  return isDone
}

function withDescriptor<T>(descriptor: number, use: (descriptor: number) => T): T {
  try {
    return use(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
