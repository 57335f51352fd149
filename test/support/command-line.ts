import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { runCommand } from '../../src/cli/cli.ts'
import { ROOT } from './root.ts'
import { withoutNodeWarning } from './strict-parser.ts'

export interface Outcome {
  code: number
  output: string
  errors: string
}

/** A busy machine may take longer than the shipped second; `check` warns of more than this. */
const PATIENT = { STORE__TIMEOUT: '10s' }

export interface RunOptions {
  /** Over a longer time limit of the store. */
  environment?: Record<string, string>
  input?: string | Uint8Array
}

/** A working directory with the shipped configuration, gone after the test. */
export function shippedFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-cli-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(join(ROOT, 'config'), join(folder, 'config'), {
    recursive: true,
    filter: file => !file.endsWith('accounts.yaml'),
  })
  return folder
}

/** A command line in a process of its own. */
export function launch(folder: string, words: string[], environment: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, [join(ROOT, 'dist/main.js'), ...words], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...PATIENT, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

/** Runs one command line to its end, in this process. */
export async function run(
  folder: string,
  words: string[],
  { environment = {}, input = '' }: RunOptions = {},
): Promise<Outcome> {
  const output = new PassThrough()
  const errors = new PassThrough()
  const code = await runCommand(words, {
    input: Readable.from([Buffer.from(input as Uint8Array)]) as NodeJS.ReadStream,
    output,
    errors,
    environment: { ...PATIENT, ...environment },
    cwd: folder,
  })
  output.end()
  errors.end()
  return { code, output: await text(output), errors: withoutNodeWarning(await text(errors)) }
}
