import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { call } from '../support/client.ts'
import { newcomerFolder, startGateway } from '../support/process.ts'
import { startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'
import { startLoad } from './load.ts'

t.jobs = 2

/* Workers die; the gateway does not. */

t.test('a worker that is killed takes only its own requests with it, and is replaced', async t => {
  const gateway = await startSupervised(t)
  const CLIENTS = 24
  const load = startLoad(t, gateway.url, { token: gateway.token, path: '/api/v1/c/x', clients: CLIENTS, rate: 200 })
  const KILLS = 3
  for (let kill = 0; kill < KILLS; kill++) {
    const [oldest] = gateway.workers()
    process.kill(oldest!, 'SIGKILL')
    t.ok(await until(() => gateway.logged('a new worker replaced it').length === kill + 1))
    const { answered } = load.outcome
    t.ok(await until(() => load.outcome.answered > answered + 100), 'clients are served on')
  }
  const { failures } = await load.stop()
  t.ok(failures.length <= KILLS * CLIENTS, `${failures.length} requests failed`)
  for (const failure of new Set(failures))
    t.match(failure, /: (ECONNRESET|EPIPE)$/, 'on a connection to the killed worker')
  t.equal(gateway.logged('a worker crashed').length, KILLS)
  t.match(gateway.logged('a worker crashed')[0], { end: 'SIGKILL' })
})

t.test('a connection on its way to a worker that dies ends, and does not wait for ever', async t => {
  const gateway = await startSupervised(t)
  const [stopped] = gateway.workers()
  process.kill(stopped!, 'SIGSTOP')
  const ask = (): Promise<number | string> =>
    new Promise(resolve => {
      const options = { agent: false, headers: { authorization: `Bearer ${gateway.token}` } }
      const sent = request(`${gateway.url}/api/v1/c/x`, options, response => {
        response.resume()
        resolve(response.statusCode!)
      })
      sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code!))
      sent.end()
    })
  const answers: (number | string)[] = []
  const asked = Array.from({ length: 6 }, () => ask().then(answer => answers.push(answer)))
  t.ok(await until(() => answers.length === 5), 'what goes to the other worker is answered')
  process.kill(stopped!, 'SIGKILL')
  await Promise.all(asked)
  t.same(answers, [200, 200, 200, 200, 200, 'ECONNRESET'])
})

t.test(
  'a worker that is said to replace another serves at the same port, whenever the last of those before it ends',
  async t => {
    const gateway = await startSupervised(t)
    // As its successor starts: before it is ordered to listen, and about when it listens.
    for (const [index, later] of [0, 100, 250].entries()) {
      const [first, last] = gateway.workers()
      process.kill(first!, 'SIGKILL')
      t.ok(await until(() => gateway.workers().some(pid => pid !== first && pid !== last)))
      await pause(later)
      process.kill(last!, 'SIGKILL')
      t.ok(await until(() => gateway.logged('a new worker replaced it').length === 2 * (index + 1)))
      t.match(await call(gateway.internal, { path: '/readyz' }), { status: 200 })
      t.match(await call(gateway.url, { token: gateway.token, path: '/api/v1/c/x' }), { status: 200 })
    }
  },
)

/** A module with which workers die before they serve while there is such a file: one that had served for long would count anew. */
const dyingAt = (mark: string): string => `
const { existsSync } = require('node:fs')
if (require('node:cluster').isWorker)
  process.on('message', ({ kind }) => {
    if (kind === 'serve' && existsSync(${JSON.stringify(mark)})) process.kill(process.pid, 'SIGKILL')
  })`

t.test('workers that crash repeatedly are restarted after growing pauses, on the same port', async t => {
  const folder = t.testdir()
  const [module, mark] = [join(folder, 'dying.cjs'), join(folder, 'mark')]
  writeFileSync(module, dyingAt(mark))
  const gateway = await startSupervised(t, { environment: { NODE_OPTIONS: `--require "${module}"` } })
  const pauses = (): number[] => gateway.logged('a worker crashed').map(line => line.again_in_ms)
  writeFileSync(mark, '')
  for (const worker of gateway.workers()) process.kill(worker, 'SIGKILL')
  t.ok(await until(() => pauses().filter(pause => pause === 1000).length === 2))
  rmSync(mark)
  // One line for each of the two; the first pause is 0 if they had served for long enough. One may be further than the other.
  const ladder = [100, 500, 1000]
  t.same(
    pauses()
      .filter(pause => ladder.includes(pause))
      .sort((a, b) => a - b),
    ladder.flatMap(pause => [pause, pause]),
  )
  const served = () => call(gateway.url, { path: '/api/v1/c/x', token: gateway.token }).catch(() => null)
  t.ok(await until(async () => (await served())?.status === 200), 'the port is the one from before')
})

t.test('a gateway that cannot start reports this once, and exits', async t => {
  const { folder, remove } = newcomerFolder()
  t.teardown(remove)
  mkdirSync(join(folder, 'data/sessions.mdb'), { recursive: true })
  const fault = await startGateway(folder, { WORKERS: '3' }).then(
    () => null,
    (error: Error) => error.message,
  )
  t.match(fault, /^the gateway ended with 1: /)
  t.equal(fault?.match(/cannot start/g)?.length, 1)
})

t.test('if the workers of a reload cannot start, the old ones continue', async t => {
  const gateway = await startSupervised(t)
  const before = gateway.workers()
  // The folder in which each process keeps a file while it has the store open.
  const openings = join(gateway.folder, 'data/sessions.mdb-processes')
  renameSync(openings, join(gateway.folder, 'data/moved'))
  writeFileSync(openings, '')
  const { code, errors } = await gateway.reload()
  t.equal(code, 1)
  t.match(errors, /^dualgate: not reloaded: the new workers cannot start: /)
  t.same(gateway.workers(), before)
  t.equal((await call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })).status, 200)
})

t.test('workers end with a primary that is killed, also while they write to the embedded store', async t => {
  const isRunning = (pid: number): boolean => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }
  for (let round = 0; round < 4; round++) {
    const gateway = await startSupervised(t)
    const workers = gateway.workers()
    t.equal(workers.length, 2)
    t.teardown(() => {
      for (const pid of workers.filter(isRunning)) process.kill(pid, 'SIGKILL')
    })
    let logins = 0
    const logIn = async (user: number): Promise<void> => {
      for (;;) {
        const user_id = `${user}`
        if ((await gateway.operate('consumer', 'login', { user_id }).catch(() => null)) === null) return
        logins++
      }
    }
    const clients = Array.from({ length: 40 }, (_, user) => logIn(user))
    t.ok(await until(() => logins > 200))
    gateway.child.kill('SIGKILL')
    t.ok(await until(() => !workers.some(isRunning)), 'no worker is left')
    await Promise.all(clients)
  }
})
