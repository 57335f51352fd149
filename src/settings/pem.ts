import { readFileSync } from 'node:fs'
import { ConfigurationError } from './notation/fault.ts'

/** Reads a file of PEM blocks, which `setting` names. Throws `ConfigurationError` when it cannot be read. */
export function readPem(file: string, setting: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'no such file' : `cannot be read (${code})`
    throw new ConfigurationError([{ place: file, message: `${reason}; ${setting} names it` }])
  }
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
