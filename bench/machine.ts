import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { delimiter, join } from 'node:path'

/** Debian installs servers in folders outside of an ordinary user's PATH. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']

/** The full path of an installed program, or `null`. */
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

/** The measured process has the first core alone; load generator, upstreams and Redis share the second. */
export const GATEWAY_CORE = 0
export const OTHER_CORE = 1

const taskset = cpus().length > 1 ? programNamed('taskset') : null

/** A command line that is pinned to a core, if the machine supports it; `null`: to none. */
export const pinned = (core: number | null, command: readonly string[]): string[] =>
  taskset === null || core === null ? [...command] : [taskset, '-c', String(core), ...command]

/** Pins what runs already, with all its threads, to a core. */
export function pin(pid: number, core: number): void {
  if (taskset !== null)
    execFileSync(taskset, ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)], { stdio: 'ignore' })
}

/** Describes the machine in one line, for readers of the numbers. */
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
