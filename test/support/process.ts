import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { call } from './client.ts'
import type { NamedPipe } from './named-pipe.ts'
import { ROOT } from './root.ts'
import { expectSecrecy } from './secrecy.ts'

/** A gateway in a process of its own, started from a copy of the shipped configuration as `npm start` does. */
export interface GatewayProcess {
  folder: string
  url: string
  internal: string
  /** Everything it printed so far. */
  output(): string
  child: ChildProcess
  /** One operation through the internal listener of a gateway whose data folder is the shipped one. */
  operate(side: 'business' | 'consumer', operation: string, body: unknown): Promise<any>
  /** Ends it and waits for its last process; answers its exit code, `null` after SIGKILL. Throws when it has printed a secret. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

/** A folder with the shipped configuration, in which a gateway can be started and started again. */
export function newcomerFolder(): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-start-'))
  cpSync(join(ROOT, 'config'), join(folder, 'config'), {
    recursive: true,
    filter: file => !file.endsWith('accounts.yaml'),
  })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** At the end of a test. Processes that it started have its output, too, and write to its folder as long as they live. */
export function killAtEnd(t: Pick<Test, 'teardown'>, child: ChildProcess): void {
  const closed = once(child, 'close')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await closed
  })
}

export const NPM_START = [join(ROOT, 'dist/main.js'), 'start', '--config', 'config/gateway.yaml']

/** Starts the built gateway on free ports and resolves when it printed its URLs. With `pipe` that is its standard output. */
export async function startGateway(
  folder: string,
  environment: Record<string, string> = {},
  words: string[] = NPM_START,
  pipe?: NamedPipe,
): Promise<GatewayProcess> {
  const child = spawn(process.execPath, words, {
    cwd: folder,
    env: { PATH: process.env.PATH, LISTEN__PORT: '0', LISTEN__HOST: '127.0.0.1', INTERNAL__PORT: '0', ...environment },
    stdio: ['ignore', pipe?.writer ?? 'pipe', 'pipe'],
  })
  const closed = once(child, 'close')
  // The reader meets the end of the pipe when the gateway has ended.
  if (pipe !== undefined) closeSync(pipe.writer)
  let printed = ''
  const urls = new Promise<string[]>((found, failed) => {
    const read = (chunk: Buffer | string): void => {
      printed += chunk
      const line = /.*https?:\/\/\S+.*(http:\/\/|unix:)\S+.*\n/.exec(printed)?.[0]
      if (line !== undefined) found(line.match(/https?:\/\/[\w.[\]:]+\d|unix:\S+/g) ?? [])
    }
    ;(pipe?.reader ?? child.stdout!).on('data', read)
    child.stderr!.on('data', read)
    child.once('exit', code => failed(new Error(`the gateway ended with ${code}: ${printed}`)))
  })
  const [url, internal] = await urls
  return {
    folder,
    url: url!,
    internal: internal!,
    output: () => printed,
    child,
    async operate(side, operation, body) {
      const token = readFileSync(join(folder, 'data/internal.secret'), 'utf8').trim()
      const path = `/operations/v1/${side}/${operation}`
      return (await call(internal!, { method: 'POST', path, token, body })).json()
    },
    async end(signal) {
      expectSecrecy(printed.split('\n'))
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
      const [code] = await closed
      return code
    },
  }
}
