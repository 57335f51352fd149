import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'

/** Builds Spring Cloud Gateway with Sa-Token (spring/) in a folder; answers where its program is. Fetches the libraries. */
export function buildSpring(maven: string, folder: string): string {
  const copy = join(folder, 'spring')
  cpSync(join(import.meta.dirname, 'spring'), copy, { recursive: true })
  execFileSync(maven, ['--batch-mode', '--quiet', 'package'], { cwd: copy, stdio: ['ignore', 'ignore', 'inherit'] })
  return join(copy, 'target/gateway.jar')
}

/** Begins sessions, and answers their tokens. */
export async function springTokens(url: string, count: number): Promise<string[]> {
  const tokens: string[] = []
  for (let i = 0; i < count; i++) {
    const response = await fetch(`${url}/sessions?id=${1900000000 + i}`, { method: 'POST' })
    tokens.push(await response.text())
  }
  return tokens
}
