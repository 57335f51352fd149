import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { isListening } from './ports.ts'

/** Debian keeps servers in `/usr/sbin`, which is on the path of root only. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']

/**
 * Where a program is installed: in one of the first folders, or where programs are. With WITHOUT_SERVERS in the environment,
 * nothing is (`npm run test:without-servers`).
 */
export const pathOf = (program: string, first: readonly string[] = []): string | undefined =>
  process.env.WITHOUT_SERVERS === undefined
    ? [...first, ...FOLDERS].map(folder => join(folder, program)).find(path => existsSync(path))
    : undefined

export interface InstalledServer {
  /** Ends it, and removes its folder. */
  stop(): Promise<void>
}

/** Starts a server that writes to a folder of its own, and resolves when it accepts connections at the port. */
export async function runInstalled(
  program: string,
  words: string[],
  { port, folder }: { port: number; folder: string },
): Promise<InstalledServer> {
  const env = { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(program, words, { stdio: 'ignore', env })
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`)
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
