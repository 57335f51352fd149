import { chmodSync, chownSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const NOBODY = 65_534

/**
 * Takes from this process the right to write to a folder. Root can write everywhere, so it acts as another user meanwhile: what
 * belongs to root is read-only then, except the folder `data` in it. Returns what gives the right back.
 */
export function readOnly(folder: string): () => void {
  if (process.geteuid?.() !== 0) {
    chmodSync(folder, 0o555)
    return () => chmodSync(folder, 0o755)
  }
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  for (const name of ['', ...readdirSync(data, { recursive: true, encoding: 'utf8' })])
    chownSync(join(data, name), NOBODY, NOBODY)
  process.seteuid?.(NOBODY)
  return () => process.seteuid?.(0)
}

/** Whether the user whom root acts as can read a file: not in a clone that is closed to others. */
export function isReadableByNobody(file: string): boolean {
  if (process.geteuid?.() !== 0) return true
  process.seteuid?.(NOBODY)
  try {
    readFileSync(file)
    return true
  } catch {
    return false
  } finally {
    process.seteuid?.(0)
  }
}

/**
 * Takes from this process the right to read a file, and leaves it that to write to its folder: so it is with a file of another user.
 * Root can read everything, so it acts as another user meanwhile. Returns what gives the right back.
 */
export function unreadable(file: string): () => void {
  if (process.geteuid?.() !== 0) {
    chmodSync(file, 0o000)
    return () => chmodSync(file, 0o600)
  }
  chmodSync(file, 0o600)
  chownSync(dirname(file), NOBODY, NOBODY)
  process.seteuid?.(NOBODY)
  return () => process.seteuid?.(0)
}
