import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** The folder in which this package is installed: that of npx, if npx has installed it for one command. */
const MANIFEST = new URL('../../../../package.json', import.meta.url)

/** What npx needs to run this package again: its name where it is installed, otherwise what the user has named. */
export function packageForNpx(cwd: string): string {
  const named = packageNamedToNpx()
  return named?.startsWith('.') ? resolve(cwd, named) : (named ?? 'dualgate')
}

/** npx notes it there. Other versions may note nothing. */
function packageNamedToNpx(): string | null {
  try {
    const { _npx } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { _npx?: { packages?: string[] } }
    return _npx?.packages?.[0] ?? null
  } catch {
    return null
  }
}
