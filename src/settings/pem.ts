import { readSource } from './files-read.ts'
import { ConfigurationError, type Fault } from './notation/fault.ts'

/** Files of PEM blocks as they were read, by their paths. */
export type PemFiles = Readonly<Record<string, string>>

/** What `recordPem` collects; `null` while it does not run. */
let recorded: Record<string, string> | null = null
/** What this process reads instead of the files. */
let kept: PemFiles = {}

/** Runs `work`, and returns with its result the files that it has read. `work` must not wait. */
export function recordPem<T>(work: () => T): { result: T; files: PemFiles } {
  const files: Record<string, string> = {}
  recorded = files
  try {
    return { result: work(), files }
  } finally {
    recorded = null
  }
}

/**
 * From now on this process reads these files as they were when the configuration was checked: each worker of a configuration uses
 * the same ones, also one that starts when they have changed.
 */
export function keepPem(files: PemFiles): void {
  kept = files
}

/** Reads a file of PEM blocks, which `setting` names. Throws `ConfigurationError` when it cannot be read. */
export function readPem(file: string, setting: string): string {
  if (Object.hasOwn(kept, file)) return kept[file]!
  try {
    const text = readSource(file).toString('utf8')
    if (recorded !== null) recorded[file] = text
    return text
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'no such file' : `cannot be read (${code})`
    throw new ConfigurationError([{ place: file, message: `${reason}; ${setting} names it` }])
  }
}

/** The results of both. Throws one `ConfigurationError` with the faults of each that throws one. */
export function readBoth(first: () => string, second: () => string): [string, string] {
  const faults: Fault[] = []
  const texts = [first, second].map(read => {
    try {
      return read()
    } catch (fault) {
      if (!(fault instanceof ConfigurationError)) throw fault
      faults.push(...fault.faults)
      return ''
    }
  })
  if (faults.length > 0) throw new ConfigurationError(faults)
  return texts as [string, string]
}

/** Throws `ConfigurationError` with `fault` when the content of a file cannot be used so. */
export function tryPem<T>(file: string, fault: string, use: () => T): T {
  try {
    return use()
  } catch {
    // The message of the library may quote the key.
    throw new ConfigurationError([{ place: file, message: fault }])
  }
}
