import { readFileSync } from 'node:fs'
import { ConfigurationError } from '../fault.ts'

/** Reads a PEM file that `setting` names. Throws `ConfigurationError` when it cannot be read. */
export function readPem(file: string, setting: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'no such file' : `cannot be read (${code})`
    throw new ConfigurationError([{ place: file, message: `${reason}; ${setting} names it` }])
  }
}

/** Tries what `read` does with the content of a file; throws `ConfigurationError` with the fault when it cannot be done. */
export function tryPem(file: string, fault: string, read: () => unknown): void {
  try {
    read()
  } catch {
    // What the library says may quote the key.
    throw new ConfigurationError([{ place: file, message: fault }])
  }
}
