import { chmodSync, chownSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

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
