import { statSync } from 'node:fs'
import { join } from 'node:path'

export const SESSIONS_FILE = 'sessions.mdb'
export const CREDENTIALS_FILE = 'credentials.mdb'

/** Which file of the disk a path names; `null` for none. Processes keep a file open when another one takes its place. */
export function fileAt(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? null : `${found.dev}:${found.ino}`
}

/** Which files of the disk the embedded store in a folder is. Without LMDB, for a process that does not open them. */
export const filesOfStore = (folder: string): string =>
  [SESSIONS_FILE, CREDENTIALS_FILE].map(name => fileAt(join(folder, name)) ?? 'none').join(' ')
