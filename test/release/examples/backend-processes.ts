import { type ChildProcess, spawn } from 'node:child_process'
import type { Test } from 'tap'
import { pathOf } from '../../support/installed.ts'
import { isListening } from '../../support/ports.ts'
import { endProcess } from '../../support/redis-server.ts'

/* The backends of config/examples, as processes. */

export interface Backend {
  name: string
  skip: string | false
  /** The command that starts it. */
  words(t: Test, port: number): string[]
}

export const missing = (program: string, advice = ''): string | false =>
  pathOf(program) === undefined && `LEFT OUT: no ${program} on PATH${advice}`

/** Compilers and interpreters write beside nothing of this tree. */
const CLEAN = { PYTHONDONTWRITEBYTECODE: '1' }

/** Starts a backend with these variables, until the end of the test. Resolves when it accepts connections at the port. */
export async function startBackend(
  t: Test,
  { words }: Backend,
  port: number,
  own: Record<string, string>,
): Promise<void> {
  const [program, ...rest] = words(t, port)
  const env = { ...process.env, ...CLEAN, PORT: String(port), ...own }
  // In a group of its own, because `go run` and `mvn` start what they have compiled.
  const child: ChildProcess = spawn(program!, rest, { env, stdio: 'ignore', detached: true })
  t.teardown(async () => {
    if (child.exitCode === null) process.kill(-child.pid!, 'SIGKILL')
    await endProcess(child)
  })
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
