import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { delimiter, join } from 'node:path'

/** Debian keeps servers where the PATH of an ordinary user does not lead. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']

/** The full path of a program of this machine; `null` when it has none of this name. */
export function programNamed(name: string): string | null {
  for (const folder of FOLDERS) {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return join(folder, name)
    } catch {
      // Not in this folder.
    }
  }
  return null
}

/** What is measured has the first core to itself; load, upstreams and Redis share the second. */
export const GATEWAY_CORE = 0
export const OTHER_CORE = 1

const taskset = cpus().length > 1 ? programNamed('taskset') : null

/** A command line that keeps to a core, where the machine can do that. */
export const pinned = (core: number, command: readonly string[]): string[] =>
  taskset === null ? [...command] : [taskset, '-c', String(core), ...command]

/** The machine in one line: what a reader of the numbers has to know. */
export function describeMachine(): string {
  const [first] = cpus()
  const tools = ['wrk', 'nginx', 'redis-server'].filter(name => programNamed(name) !== null)
  return [
    `${cpus().length} cores (${first?.model.trim() || process.arch})`,
    `Node ${process.version}`,
    ...tools.map(versionOf),
    taskset === null ? 'not pinned' : 'pinned',
    `load ${loadavg()[0]!.toFixed(1)} at the start`,
  ].join(', ')
}

function versionOf(name: string): string {
  const said = (() => {
    try {
      const flag = name === 'redis-server' ? '--version' : '-v'
      return execFileSync('sh', ['-c', `${programNamed(name)} ${flag} 2>&1 || true`], { encoding: 'utf8' })
    } catch {
      return ''
    }
  })()
  return `${name} ${/\d+\.\d+(\.\d+)?/.exec(said)?.[0] ?? ''}`.trim()
}
