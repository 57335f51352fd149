import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority, platform } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import bcrypt from 'bcrypt'
import t from 'tap'
import { Helper } from '../../src/login/helpers/helper-process.ts'
import { ROOT } from '../support/root.ts'
import { until } from '../support/until.ts'

const LOWEST = { niceness: 19, idle: true }
/** On a busy machine a helper of the lowest priority takes long. */
const HIGHER = { niceness: 0, idle: false }
const MINUTE = 60_000
const linux = platform() === 'linux' ? {} : { skip: 'there is no /proc' }
const HASH = bcrypt.hashSync('correct horse', 4)

/** A comparison that takes seconds. */
const LONG = { password: 'x', hash: bcrypt.hashSync('y', 4).replace('$04$', '$15$'), decoys: [] }
const QUICK = { password: 'correct horse', hash: HASH, decoys: [] }

const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** The scheduling policies of all threads of a process; proc(5): field 41 of `stat`. SCHED_IDLE is 5. */
const policies = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`).map(thread => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[38])
  })

t.test('every thread of a helper has its low priority', linux, async t => {
  for (const niceness of [19, 10]) {
    const helper = new Helper({ niceness, idle: false }, MINUTE)
    await helper.run('compare', QUICK)
    const threads = readdirSync(`/proc/${helper.pid}/task`).map(Number)
    t.same(new Set(threads.map(thread => getPriority(thread))), new Set([niceness]))
    await helper.close()
  }
})

t.test('where chrt is installed, the threads of a helper run only when a core is idle', linux, async t => {
  const { PATH } = process.env
  t.teardown(() => {
    process.env.PATH = PATH
  })
  const helper = new Helper(LOWEST, MINUTE)
  await helper.run('compare', QUICK)
  const found = new Set(policies(helper.pid!))
  await helper.close()
  process.env.PATH = '/nowhere'
  const without = new Helper(LOWEST, MINUTE)
  await without.run('compare', QUICK)
  t.same(new Set(policies(without.pid!)), new Set([0]), 'without the program the work is done all the same')
  await without.close()
  const installed = (PATH ?? '').split(':').some(folder => {
    try {
      return readdirSync(folder).includes('chrt')
    } catch {
      return false
    }
  })
  t.same(found, new Set([installed ? 5 : 0]))
})

t.test('a chrt that refuses the policy is done without', linux, async t => {
  const { PATH } = process.env
  t.teardown(() => {
    process.env.PATH = PATH
  })
  // A program of this name that does not start what it is given.
  process.env.PATH = t.testdir({ bin: {} })
  const { chmodSync, writeFileSync } = await import('node:fs')
  writeFileSync(`${process.env.PATH}/chrt`, '#!/bin/sh\nexit 1\n')
  chmodSync(`${process.env.PATH}/chrt`, 0o755)
  const helper = new Helper(LOWEST, MINUTE)
  t.same(await Promise.all([helper.run('compare', QUICK), helper.run('compare', QUICK)]), [true, true])
  await helper.close()
})

t.test('a helper does not know the environment of the gateway', linux, async t => {
  process.env.JWT__SECRET_KEY = 'a secret of the gateway'
  t.teardown(() => {
    delete process.env.JWT__SECRET_KEY
  })
  const helper = new Helper(HIGHER, MINUTE)
  await helper.run('compare', QUICK)
  t.notMatch(readFileSync(`/proc/${helper.pid}/environ`, 'utf8'), 'a secret of the gateway')
  await helper.close()
})

t.test('signals to all processes of a service do not end a helper', linux, async t => {
  const helper = new Helper(HIGHER, MINUTE)
  await helper.run('compare', QUICK)
  const { pid } = helper
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid!, signal)
  t.equal(await helper.run('compare', QUICK), true)
  t.equal(helper.pid, pid)
  await helper.close()
  await until(() => !isAlive(pid!))
})

t.test('a helper that is killed fails its tasks, and the next task starts another one', linux, async t => {
  const helper = new Helper(HIGHER, MINUTE)
  await helper.run('compare', QUICK)
  const { pid } = helper
  const failed = t.rejects(helper.run('compare', LONG), { message: 'a login helper ended with SIGKILL' })
  process.kill(pid!, 'SIGKILL')
  await failed
  t.equal(helper.isBusy, false)
  t.equal(await helper.run('compare', QUICK), true)
  t.not(helper.pid, pid)
  await helper.close()
})

/** Starts a helper, gives it a task while it stands still, and is killed. Prints the helper's process id. */
const DYING = `
const { fork } = require('node:child_process')
const helper = fork(process.argv[1], ['0'], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
helper.once('message', () => {
  helper.kill('SIGSTOP')
  helper.send({ id: 2, name: 'compare', task: JSON.parse(process.argv[2]) })
  require('node:fs').writeSync(1, String(helper.pid))
  process.kill(process.pid, 'SIGKILL')
})
helper.send({ id: 1, name: 'compare', task: JSON.parse(process.argv[2]) })`

t.test('a helper ends without a word when its gateway is killed', linux, async t => {
  const program = join(ROOT, 'dist/login/helpers/main.js')
  const task = JSON.stringify({ ...QUICK, hash: 'no hash' })
  const gateway = spawn(process.execPath, ['-e', DYING, program, task], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [pid, errors] = [await text(gateway.stdout), text(gateway.stderr)]
  process.kill(Number(pid), 'SIGCONT')
  t.equal(await errors, '')
  t.ok(await until(() => !isAlive(Number(pid))))
})

t.test('a helper without tasks ends', linux, async t => {
  const helper = new Helper(HIGHER, 1)
  await helper.run('compare', QUICK)
  await until(() => helper.pid === undefined)
  t.equal(await helper.run('compare', QUICK), true, 'and the next task starts another one')
  await helper.close()
})

t.test('a helper reports the processor time of its last task of each kind', async t => {
  const helper = new Helper(HIGHER, MINUTE)
  t.equal(helper.cpuOf('compare'), 0)
  await helper.run('compare', QUICK)
  t.ok(helper.cpuOf('compare') > 0)
  t.equal(helper.cpuOf('draw'), 0)
  await helper.close()
})

t.test('a fault of the work rejects its task alone', async t => {
  const helper = new Helper(HIGHER, MINUTE)
  const bad = t.rejects(helper.run('compare', { ...QUICK, hash: null as never }))
  t.equal(await helper.run('compare', QUICK), true)
  await bad
  await helper.close()
})

t.test('a helper loads only the libraries of the work that it was given', linux, async t => {
  const helper = new Helper(HIGHER, MINUTE)
  const libraries = (): string => readFileSync(`/proc/${helper.pid}/maps`, 'utf8')
  await helper.run('compare', QUICK)
  t.match(libraries(), /bcrypt/)
  t.notMatch(libraries(), /resvg/)
  await helper.run('draw', { text: 'ACDE' })
  t.match(libraries(), /resvg/)
  await helper.close()
})

t.test('a helper frees the memory of its pictures', linux, async t => {
  const helper = new Helper(HIGHER, MINUTE)
  const draw = async (count: number): Promise<number> => {
    for (let i = 0; i < count; i += 20) {
      await Promise.all(Array.from({ length: 20 }, () => helper.run('draw', { text: 'ACDE' })))
    }
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${helper.pid}/status`, 'utf8'))![1])
  }
  // What is not freed is forty kilobytes a picture: 16 MB in each part. A heap that grows does so in some parts only.
  const growths: number[] = []
  for (let before = await draw(300); growths.length < 6 && Math.min(...growths) >= 11; ) {
    const after = await draw(400)
    growths.push((after - before) / 1024)
    before = after
  }
  t.ok(Math.min(...growths) < 11, `MB more in each part: ${growths.map(Math.round).join(' ')}`)
  await helper.close()
})
