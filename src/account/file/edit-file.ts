import { mkdir, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { replaceFile } from '../../base/durable-file.ts'
import { Unavailable } from '../../base/refusal.ts'
import { ConfigurationError } from '../../settings/notation/fault.ts'
import type { AccountsReader } from './accounts-reader.ts'
import { type Change, textAfter } from './changed-text.ts'
import { listMissing } from './document.ts'
import { type IsHeld, withLock } from './lock.ts'
import type { AccountEntry } from './schema.ts'
import { isStill, noteWhole, settledText } from './settled-text.ts'

/** What an accounts file is created with. */
export const EMPTY_FILE = `# Accounts of the gateway, managed by \`dualgate account\`; read again when this file changes.
# status: ACTIVE, INACTIVE or LOCKED. password: a bcrypt hash. Further keys go into the session as they are.
# service: true, without a password: a service account, for programs; it cannot sign in.
accounts: []
`

/** A file that is edited. */
export interface EditedFile {
  readonly path: string
  readonly reader: AccountsReader
  /** Called with each new text of the file as soon as it is there: nothing of this process comes in between. */
  written?(text: string): void
}

/** What is to change of these accounts, if anything, and what the edit returns. */
export interface Decision<T> {
  change: Change | null
  result: T
}

/** May be called again for other accounts. What it throws ends the edit, and nothing changes. */
export type Decide<T> = (entries: readonly AccountEntry[]) => Decision<T> | Promise<Decision<T>>

/** `changed` is `false` if everything was as the last decision sets it. */
export interface Outcome<T> {
  changed: boolean
  result: T
}

/** How often the change is decided again because an editor saved the file meanwhile. */
const MAX_TRIES = 10

/**
 * Reads the file, changes it and writes it. Writers that come here lose no update of each other:
 * they hold the lock. An editor knows nothing of a lock: the change is decided again if the file is another one when it is
 * about to be replaced. Two things remain to the editor: what it saves within some microseconds from then on is lost, and an
 * editor that saves what it read before the change undoes the change.
 */
export async function edit<T>(edited: EditedFile, decide: Decide<T>): Promise<Outcome<T>> {
  const { path } = edited
  await mkdir(dirname(path), { recursive: true })
  // A link is followed, so that the file it names is replaced and not the link.
  const file = (await exists(path)) ? await realpath(path) : path
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const outcome = await withLock(file, isHeld => tryEdit(file, edited, decide, isHeld))
    if (outcome !== null) return outcome
  }
  throw new Unavailable(`${path} is saved by another program all the time; try again`)
}

/** `null` if another program has written the file meanwhile. */
async function tryEdit<T>(
  file: string,
  edited: EditedFile,
  decide: Decide<T>,
  isHeld: IsHeld,
): Promise<Outcome<T> | null> {
  const { reader, written } = edited
  const { before, text, read } = await readWhole(file, reader)
  const { change, result } = await decide(read.entries)
  const unchanged = { changed: false, result }
  if (change === null) return unchanged
  const after = await textAfter(text, read, change, reader)
  if (after === before) return unchanged
  if (!replaceFile(file, after, () => isHeld() && isStill(file, before))) return null
  noteWhole(file, after)
  written?.(after)
  return { changed: true, result }
}

/**
 * The accounts of a file that no program is writing. A file without a list has faults: that is how one looks whose disk was full,
 * and an account that is added to it would replace all others.
 */
export async function readWhole(path: string, reader: AccountsReader) {
  const before = await settledText(path)
  const text = before ?? EMPTY_FILE
  const read = await reader.read(text)
  if (!read.hasList) throw new ConfigurationError([listMissing(path)])
  return { before, text, read }
}

export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw fault
  }
}
