import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Test } from 'tap'
import { temporaryFolder } from './image.ts'
import { ROOT } from './root.ts'

/* What a newcomer has: a clone of the repository, and a shell in it. */

/**
 * A folder `dualgate` with every file that the repository holds, as it is now, and nothing that was built or installed. Git is not
 * needed: this folder may be a downloaded archive.
 */
export function freshClone(t: Pick<Test, 'teardown'>): string {
  const folder = join(temporaryFolder(t, 'clone'), 'dualgate')
  const isLeftOut = patternOf(['.git/', ...readFileSync(join(ROOT, '.gitignore'), 'utf8').trim().split('\n')])
  cpSync(ROOT, folder, { recursive: true, filter: path => !isLeftOut.test(relative(ROOT, path)) })
  return folder
}

/** Patterns of `.gitignore` as one: of paths from the root, or of names at any depth. */
function patternOf(lines: readonly string[]): RegExp {
  const each = lines.map(line => {
    const text = line.replace(/\/$/, '').replace(/[.+]/g, '\\$&').replaceAll('*', '[^/]*')
    return text.includes('/') ? `^${text}$` : `(?:^|/)${text}$`
  })
  return new RegExp(each.join('|'))
}

/** A gateway that commands of a document have started. */
export interface Started {
  folder: string
  url: string
  internal: string
  output(): string
  /** Ends it as Ctrl+C does, and waits until all that the commands have started is gone. */
  end(): Promise<void>
}

/** Runs commands of which the last one starts a gateway, on free ports, and resolves when it has printed its last line. */
export async function startedBy(
  t: Test,
  { folder, script, environment, last }: { folder: string; script: string; environment: object; last: RegExp },
): Promise<Started> {
  const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: { HOME: process.env.HOME, LISTEN__HOST: '127.0.0.1', LISTEN__PORT: '0', INTERNAL__PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const closed = new Promise<void>(resolve => child.once('close', () => resolve()))
  t.teardown(() => signalAll(child, 'SIGKILL'))
  let printed = ''
  const up = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', chunk => {
        printed += chunk
        if (last.test(printed)) resolve()
      })
    void closed.then(() => reject(new Error(`the commands ended: ${printed}`)))
  })
  await up
  const [, url, internal] = /answers at (\S+), internally at (\S+)/.exec(printed)!
  return {
    folder,
    url: url!,
    internal: internal!,
    output: () => printed,
    async end() {
      signalAll(child, 'SIGINT')
      await closed
    },
  }
}

/** A terminal sends Ctrl+C to all processes in front, so that npm, its shell and the gateway receive it. */
function signalAll(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-child.pid!, signal)
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code !== 'ESRCH') throw fault
  }
}
