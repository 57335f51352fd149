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

/** Replaces a file, or creates it. Its owner stays, so that a command run as root does not take it from the gateway. */
export function replaceFile(path: string, text: string | Buffer): void {
  const before = statSync(path, { throwIfNoEntry: false })
  viaTemporary(path, text, (temporary, descriptor) => {
    if (before !== undefined && before.uid !== fstatSync(descriptor).uid) fchownSync(descriptor, before.uid, before.gid)
    renameSync(temporary, path)
  })
}

/** Creates a file. `false`, and nothing changed, when it exists: of several processes at once exactly one creates it. */
export function createFile(path: string, text: string): boolean {
  try {
    // Unlike a rename, a link never replaces a file.
    viaTemporary(path, text, temporary => linkSync(temporary, path))
    return true
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw fault
  }
}

function viaTemporary(
  path: string,
  text: string | Buffer,
  putInPlace: (temporary: string, descriptor: number) => void,
): void {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    withDescriptor(openSync(temporary, 'wx', 0o600), descriptor => {
      writeFileSync(descriptor, text)
      fsyncSync(descriptor)
      putInPlace(temporary, descriptor)
    })
  } finally {
    rmSync(temporary, { force: true })
  }
  // The new name is on the disk only after the folder is.
  withDescriptor(openSync(dirname(path), 'r'), fsyncSync)
}

function withDescriptor(descriptor: number, use: (descriptor: number) => void): void {
  try {
    use(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
