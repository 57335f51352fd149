import { writeFileSync } from 'node:fs'
import { request, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { call } from '../support/client.ts'
import { type Supervised, startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'

t.jobs = 2

/* One new worker of a reload is late, or fails, when another one is ready. */

/**
 * A module for the primary. With the first SIGUSR2 it begins a reload, of which it holds the reports of this kind of one new
 * worker. The second SIGUSR2 passes them on as `passed` makes them.
 */
const holding = (kind: string, passed: string): string => `
const cluster = require('node:cluster')
let isBegun = false
let late = null
const held = []
process.on('SIGUSR2', () => {
  if (!isBegun) process.emit('SIGHUP', 'SIGHUP')
  isBegun = true
  for (const pass of held.splice(0)) pass()
})
cluster.on('fork', worker => {
  const { emit } = worker
  if (!isBegun) return
  worker.emit = (name, report, handle) => {
    if (name !== 'message') return emit.call(worker, name, report, handle)
    if (report.kind === '${kind}') late ??= worker
    if (report.kind === '${kind}' && late === worker) {
      held.push(() => emit.call(worker, name, (${passed})(report), handle))
      console.log('one worker is late')
      return true
    }
    if (report.kind !== 'waiting' && late !== null && late !== worker) console.log('another worker has reported')
    return emit.call(worker, name, report, handle)
  }
})`

/** A gateway whose reload has come to where one new worker is late and the other one has reported what it can do. */
async function openReload(t: Test, module: string) {
  const file = join(t.testdir(), 'holding.cjs')
  writeFileSync(file, module)
  const gateway = await startSupervised(t, { environment: { NODE_OPTIONS: `--require "${file}"` } })
  const before = gateway.workers()
  const signal = (): void => void process.kill(gateway.child.pid!, 'SIGUSR2')
  gateway.writeUpstream('second')
  signal()
  await until(() =>
    ['one worker is late', 'another worker has reported'].every(said => gateway.output().includes(said)),
  )
  const added = gateway.workers().filter(pid => !before.includes(pid))
  const refused = () => gateway.logged('not reloaded; the gateway continues with the previous configuration')
  return { gateway, before, added, release: signal, refused }
}

const ask = ({ url, token }: Supervised) => call(url, { path: '/api/v1/c/x', token })

/** Requests to new workers whose answers the backend holds; several, so that each new worker has some. */
async function askNewWorkers(gateway: Supervised) {
  let held: ServerResponse[] | null = []
  gateway.backend.answer = ({ url }, response) => {
    if (!url!.startsWith('/second/')) response.end('not held')
    else if (held === null) response.end('held')
    else held.push(response)
  }
  const asked: Promise<string>[] = []
  await until(() => {
    asked.push(
      ask(gateway).then(
        ({ text }) => text,
        (fault: Error) => fault.message,
      ),
    )
    return held!.length >= 8
  })
  /** Sends the answers, and returns the different outcomes of these requests. */
  return async (): Promise<string[]> => {
    for (const response of held!) response.end('held')
    held = null
    const outcomes = new Set(await Promise.all(asked))
    outcomes.delete('not held')
    return [...outcomes]
  }
}

t.test('no client reaches a new worker before all of them are ready', async t => {
  const { gateway, release } = await openReload(t, holding('waiting', 'report => report'))
  for (const { text } of await Promise.all(Array.from({ length: 16 }, () => ask(gateway)))) t.match(text, '/first/')
  release()
  t.ok(await until(() => gateway.logged('the configuration was reloaded').length === 1))
  t.match((await ask(gateway)).text, '/second/')
})

const FAILING = holding('serving', "() => ({ kind: 'failed', fault: 'as a test wants it' })")

t.test('new workers that serve when another one fails finish their requests', async t => {
  const { gateway, before, release, refused } = await openReload(t, FAILING)
  const answers = await askNewWorkers(gateway)
  release()
  t.ok(await until(() => refused().length === 1))
  t.match(refused(), [{ err: { message: 'the new workers cannot start: as a test wants it' } }])
  const next = await Promise.all(Array.from({ length: 8 }, () => ask(gateway)))
  for (const { text } of next) t.equal(text, 'not held', 'only the workers before accept connections')
  t.same(await answers(), ['held'])
  t.ok(await until(() => gateway.workers().length === before.length))
  t.same(gateway.workers(), before)
  t.equal(await gateway.end('SIGTERM'), 0)
})

t.test('a stop waits for the requests of new workers whose reload has failed', async t => {
  const { gateway, release, refused } = await openReload(t, FAILING)
  const answers = await askNewWorkers(gateway)
  release()
  t.ok(await until(() => refused().length === 1))
  const ended = gateway.end('SIGTERM')
  t.ok(
    await until(() =>
      call(gateway.url, { path: '/livez' }).then(
        () => false,
        () => true,
      ),
    ),
    'no worker accepts',
  )
  t.same(await answers(), ['held'])
  t.equal(await ended, 0)
})

t.test('a connection on its way to a new worker that dies before the reload is done ends', async t => {
  const { gateway, added, release, refused } = await openReload(t, FAILING)
  const [stopped] = added
  process.kill(stopped!, 'SIGSTOP')
  const outcomes: (number | string)[] = []
  const connect = (): Promise<void> =>
    new Promise(done => {
      const end = (outcome: number | string): void => {
        outcomes.push(outcome)
        done()
      }
      const options = { agent: false, headers: { authorization: `Bearer ${gateway.token}` } }
      const sent = request(`${gateway.url}/api/v1/c/x`, options, response => end(response.resume().statusCode!))
      sent.on('error', (fault: NodeJS.ErrnoException) => end(fault.code!))
      sent.end()
    })
  const connected = Array.from({ length: 8 }, connect)
  t.ok(await until(() => outcomes.length === 7), 'the other workers answer')
  process.kill(stopped!, 'SIGKILL')
  release()
  await Promise.all(connected)
  t.same(outcomes, [...Array.from({ length: 7 }, () => 200), 'ECONNRESET'])
  t.ok(await until(() => refused().length === 1))
})
