import { stat } from 'node:fs/promises'
import type { EmbeddedFile } from './lmdb-file.ts'

const TRIAL_BYTES = 65_536

/** What is wrong with a file, and what to do about it; may be empty. */
export async function warningsOf(file: EmbeddedFile): Promise<string[]> {
  const found: string[] = []
  if (file.outage.warning !== null) await tryToWrite(file)
  if (file.outage.warning !== null) found.push(file.outage.warning)
  const { mode } = await stat(file.path)
  if ((mode & 0o077) !== 0) found.push(`${file.path} can be read by other users of this machine: chmod 600`)
  return found
}

/** A change that needs new pages of the file: without one, nothing would show that a disk has room again. */
async function tryToWrite(file: EmbeddedFile): Promise<void> {
  const meta = file.table('meta')
  const key = Buffer.from('trial')
  try {
    await file.add(() => void meta.putSync(key, 'x'.repeat(TRIAL_BYTES)))
    await file.write(() => void meta.removeSync(key))
  } catch {
    // The file has noted it.
  }
}
