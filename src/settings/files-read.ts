import { fileState } from '../base/file-state.ts'

/** Files of a configuration, each with its state (`fileState`) before it was read. One that is missing may appear later. */
export type FilesRead = Map<string, string>

/** What `recordFiles` fills; `null` while it does not run. */
let recorded: FilesRead | null = null

/** Runs `work`, and replaces the content of `files` by the files that it reads, also when it throws. `work` must not wait. */
export function recordFiles<T>(files: FilesRead, work: () => T): T {
  files.clear()
  recorded = files
  try {
    return work()
  } finally {
    recorded = null
  }
}

/** A file of the configuration is going to be read. */
export function noteReading(file: string): void {
  if (recorded !== null && !recorded.has(file)) recorded.set(file, fileState(file))
}
