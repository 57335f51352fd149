import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { codeOf, fileState } from '../base/file-state.ts'

/** What was found where a configuration names a file. */
export interface FileRead {
  /** Before it was read (`fileState`). */
  state: string
  /** A digest of its bytes, or the code of the fault. */
  content: string
}

/** The files of a configuration, also those that were missing. */
export type FilesRead = Map<string, FileRead>

/** What `recordFiles` fills; `null` while it does not run. */
let recorded: FilesRead | null = null

/** Runs `work`, and replaces the content of `files` by the files that it reads, also when it throws. `work` must not wait. */
export function recordFiles<T>(files: FilesRead, work: () => T): T {
  files.clear()
  return recordInto(files, work)
}

/** Runs `work`, whose files are recorded only if it throws: changes of sound ones are followed in another way. */
export function recordIfFaulty<T>(work: () => T): T {
  const outer = recorded
  const files: FilesRead = new Map()
  try {
    return recordInto(files, work)
  } catch (fault) {
    for (const [file, read] of files) outer?.set(file, read)
    throw fault
  }
}

function recordInto<T>(files: FilesRead, work: () => T): T {
  const outer = recorded
  recorded = files
  try {
    return work()
  } finally {
    recorded = outer
  }
}

/** Reads a file that a configuration consists of, or names. Throws what the system reports. */
export function readSource(file: string): Buffer {
  if (recorded === null) return readFileSync(file)
  const state = fileState(file)
  try {
    const bytes = readFileSync(file)
    note(file, { state, content: digestOf(bytes) })
    return bytes
  } catch (fault) {
    note(file, { state, content: codeOf(fault) })
    throw fault
  }
}

/** Of several readings of a file the first counts: what changed since is a change. */
function note(file: string, read: FileRead): void {
  if (recorded?.has(file) === false) recorded.set(file, read)
}

/** Why a file could not be read, with the remedy. */
export const unreadableText = (fault: unknown): string =>
  `cannot be read (${codeOf(fault)}); check that it is a file this user may read`

/** A file that has other contents than were read, and its state now. */
export interface ChangedFile {
  file: string
  state: string
}

/** The files with other contents than were read. A pipe has nothing left to read, so it is not among them. */
export function changedFiles(files: FilesRead): ChangedFile[] {
  return [...files].flatMap(([file, read]) => {
    const state = fileState(file)
    if (state === read.state || isPipe(file)) return []
    if (contentOf(file) !== read.content) return [{ file, state }]
    // Written anew with the same contents.
    read.state = state
    return []
  })
}

/** Whether this is a pipe, such as that of `--config <(command)`. */
export const isPipe = (file: string): boolean => {
  try {
    return statSync(file).isFIFO()
  } catch {
    return false
  }
}

function contentOf(file: string): string {
  try {
    return digestOf(readFileSync(file))
  } catch (fault) {
    return codeOf(fault)
  }
}

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64')
