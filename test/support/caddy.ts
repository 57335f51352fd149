import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isListening } from './ports.ts'

const hasCaddy = (): boolean => {
  try {
    execFileSync('caddy', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export const withoutCaddy = hasCaddy() ? false : 'LEFT OUT: no caddy on PATH'

export interface Caddy {
  stop(): Promise<void>
}

/** Starts Caddy with these sites, one of which has to listen on the port; it writes to a folder of its own. */
export async function runCaddy(port: number, sites: string): Promise<Caddy> {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-caddy-'))
  const file = join(folder, 'Caddyfile')
  writeFileSync(file, `{\n  admin off\n  auto_https off\n}\n${sites}`)
  const child = spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  })
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`caddy ended with ${child.exitCode}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return {
    async stop() {
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
