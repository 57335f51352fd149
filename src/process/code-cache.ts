import { createHash, timingSafeEqual } from 'node:crypto'
import { closeSync, fstatSync, openSync, readFileSync, statSync } from 'node:fs'

/*
 * V8's compiled form of a program, kept between its starts. V8 runs it as it is, so it is as powerful as the program:
 * only what lies beside the program and cannot be written by more users than the program can is accepted. V8 finds out by
 * itself that another version or other flags compiled it, but not that bytes of it are wrong: the digest does.
 */

/** The bits of a file's mode that let its group or all users write. */
const WRITABLE_BY_OTHERS = 0o022
/** Bytes of SHA-256. */
const DIGEST = 32

/** The compiled form of the file `program` with this identity; `undefined` without one that can be trusted. */
export function readCodeCache(path: string, program: string, identity: string): Buffer | undefined {
  try {
    const kept = readTrusted(path, statSync(program).uid)
    const [digest, compiled] = [kept.subarray(0, DIGEST), kept.subarray(DIGEST)]
    return timingSafeEqual(digest, digestOf(identity, compiled)) ? compiled : undefined
  } catch {
    return undefined
  }
}

/** Keeps it for the next start; where this user must not write, every start compiles. */
export async function writeCodeCache(path: string, identity: string, compiled: Buffer): Promise<void> {
  // Loaded here because a start from the cache does not need it.
  const { replaceFile } = await import('../base/durable-file.ts')
  try {
    replaceFile(path, Buffer.concat([digestOf(identity, compiled), compiled]))
  } catch {
    // A program in a folder that is read-only for its user is usual.
  }
}

function readTrusted(path: string, owner: number): Buffer {
  const descriptor = openSync(path, 'r')
  try {
    const { uid, mode } = fstatSync(descriptor)
    const isOwn = uid === owner || uid === process.geteuid?.()
    if (!isOwn || (mode & WRITABLE_BY_OTHERS) !== 0) throw new Error('other users could have written it')
    return readFileSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

const digestOf = (identity: string, compiled: Buffer): Buffer =>
  createHash('sha256').update(identity).update('\n').update(compiled).digest()
