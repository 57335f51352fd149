import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { atPlace, nearestExisting } from './place-fault.ts'

/*
 * Files with secrets in them, which only their owner reads, and other files that must be whole. They are written under another
 * name and put in place when they are on the disk: a reader finds the old text or the new one, whole, and a crash loses neither.
 */

/** Modes of new files; the umask takes from the second one. */
const SECRET = 0o600
export const READABLE = 0o666

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

/**
 * Creates a file, which only its owner reads unless `mode` says otherwise. `false`, and nothing changed, when it exists: of several
 * processes at once exactly one creates it.
 */
export function createFile(path: string, text: string, mode = SECRET): boolean {
  try {
    // Unlike a rename, a link never replaces a file.
    const putInPlace = (temporary: string): boolean => {
      linkSync(temporary, path)
      return true
    }
    return viaTemporary(path, text, putInPlace, mode)
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
  mode = SECRET,
): boolean {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  let isDone = false
  try {
    isDone = atPlace(path, () =>
      withDescriptor(openSync(temporary, 'wx', mode), descriptor => {
        writeFileSync(descriptor, text)
        fsyncSync(descriptor)
        return putInPlace(temporary, descriptor)
      }),
    )
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

/**
 * Why a file cannot be replaced, or created, as far as its folder shows: the code of the fault, such as EROFS or EACCES; `null`
 * if nothing speaks against it. Changes nothing.
 */
export function faultOfReplacing(path: string): string | null {
  try {
    const before = statSync(path, { throwIfNoEntry: false })
    // The new file would belong to another user, and only root can give it back.
    if (before !== undefined && !canOwn(before.uid)) return 'EPERM'
    accessSync(
      nearestExisting(dirname(before === undefined ? path : realpathSync(path))),
      constants.W_OK | constants.X_OK,
    )
    return null
  } catch (fault) {
    return faultIn(fault)
  }
}

/**
 * The same by an attempt: a temporary file of the same size is written beside it and removed. A full disk shows itself only so, and
 * a folder on some network file systems.
 */
export function tryReplacing(path: string): string | null {
  const known = faultOfReplacing(path)
  if (known !== null || !existsSync(path)) return known
  try {
    const file = realpathSync(path)
    viaTemporary(file, Buffer.alloc(statSync(file).size), () => false)
    return null
  } catch (fault) {
    return faultIn(fault)
  }
}

function canOwn(uid: number): boolean {
  const own = process.geteuid?.() ?? uid
  return own === uid || own === 0
}

/** `null` for a file that was removed meanwhile: some editors do so before they write it anew. */
function faultIn(fault: unknown): string | null {
  const { code } = fault as NodeJS.ErrnoException
  return code === 'ENOENT' ? null : (code ?? String(fault))
}
