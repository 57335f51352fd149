import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type InstalledServer, pathOf, runInstalled } from './installed.ts'

const CADDY = pathOf('caddy')

export const withoutCaddy = CADDY === undefined ? 'LEFT OUT: no caddy on PATH' : false

/** Starts Caddy with these sites, one of which has to listen on the port. */
export function runCaddy(port: number, sites: string): Promise<InstalledServer> {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-caddy-'))
  const file = join(folder, 'Caddyfile')
  writeFileSync(file, `{\n  admin off\n  auto_https off\n}\n${sites}`)
  return runInstalled(CADDY!, ['run', '--config', file, '--adapter', 'caddyfile'], { port, folder })
}
