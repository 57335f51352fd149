import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { killAtEnd, NPM_START, newcomerFolder } from '../support/process.ts'
import { childrenOf } from '../support/supervised.ts'
import { until } from '../support/until.ts'

/* The first worker starts before the configuration is read. */

interface Start {
  folder: string
  child: ChildProcess
  output(): string
  /** The processes that it started and that still run. */
  workers(): number[]
}

const ENVIRONMENT = { LISTEN__PORT: '0', LISTEN__HOST: '127.0.0.1', INTERNAL__PORT: '0' }

function start(t: Test, prepare: (folder: string) => void, environment: Record<string, string> = {}): Start {
  const { folder, remove } = newcomerFolder()
  t.teardown(remove)
  prepare(folder)
  const child = spawn(process.execPath, NPM_START, {
    cwd: folder,
    env: { PATH: process.env.PATH, ...ENVIRONMENT, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  killAtEnd(t, child)
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (printed += chunk))
  return { folder, child, output: () => printed, workers: () => childrenOf(child.pid!) }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The processes that a start has begun before it could read the configuration; none after a start that ended first. */
async function early({ child, workers }: Start): Promise<number[]> {
  let found: number[] = []
  await until(() => {
    found = workers()
    return found.length > 0 || child.exitCode !== null
  })
  return found
}

const serves = ({ output }: Start): Promise<boolean> => until(() => output().includes('dualgate answers at'))

t.test('a configuration with faults is reported once, and ends the worker that started meanwhile', async t => {
  // The gateway waits at this pipe, where it reads its configuration.
  const held = (folder: string): void => void execFileSync('mkfifo', [join(folder, '.env')])
  const gateway = start(t, held, { WORKERS: '2' })
  const { child, output } = gateway
  const ended = once(child, 'close')
  const started = await early(gateway)
  await writeFile(join(gateway.folder, '.env'), 'TIMEZONE=Nowhere\n')
  t.equal(started.length, 1, 'a worker was started before the check')
  const [code] = await ended
  t.equal(code, 1)
  t.equal(output().match(/is not a time zone/g)?.length, 1, output())
  t.notMatch(output(), /answers at|worker/)
  t.ok(await until(() => !started.some(isAlive)), 'no worker stays')
})

t.test('a gateway of one process has no other, also where the program expected workers', async t => {
  const alone = start(t, folder => writeFileSync(join(folder, '.env'), 'WORKERS=1\n'))
  t.ok(await serves(alone), alone.output())
  t.ok(await until(() => alone.workers().length === 0))
  t.notMatch(alone.output(), /crashed/)
})

t.test('all workers serve, the one that started first among them', async t => {
  const gateway = start(t, () => undefined, { WORKERS: '2' })
  const [first] = await early(gateway)
  t.ok(await serves(gateway), gateway.output())
  t.equal(gateway.workers().length, 2)
  t.ok(gateway.workers().includes(first!))
})

t.test('SIGHUP while the program still loads does not end it', async t => {
  const gateway = start(t, () => undefined, { WORKERS: '2' })
  await early(gateway)
  gateway.child.kill('SIGHUP')
  t.ok(await serves(gateway), gateway.output())
  t.equal(gateway.child.exitCode, null)
})
