import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call } from './client.ts'
import { type InstalledServer, pathOf, runInstalled } from './installed.ts'

const TRAEFIK = pathOf('traefik')

/** Neither Debian nor PyPI has Traefik, so `.ci/run` goes without it. */
export const withoutTraefik = TRAEFIK === undefined ? 'no traefik on PATH: its examples are read, not run' : false

/** Starts Traefik with a static configuration that names `routes.yaml` and has to listen on the port. */
export async function runTraefik(port: number, configuration: string, routes: string): Promise<InstalledServer> {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-traefik-'))
  const file = join(folder, 'traefik.yaml')
  writeFileSync(join(folder, 'routes.yaml'), routes)
  writeFileSync(file, configuration.replace('routes.yaml', join(folder, 'routes.yaml')))
  const server = await runInstalled(TRAEFIK!, [`--configFile=${file}`], { port, folder })
  // It listens before it has read its routes. All examples have one for this path.
  while ((await call(`http://127.0.0.1:${port}`, { path: '/api/' })).text === '404 page not found\n')
    await new Promise(resolve => setTimeout(resolve, 20))
  return server
}
