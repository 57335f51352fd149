import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { RECORDS_LIMIT } from '../../src/gateway/close-limits.ts'
import { endLimit, IDLE_GRACE } from '../../src/process/orders.ts'
import { generateSecret } from '../../src/settings/secrets.ts'
import { ownFileName } from '../../src/store/embedded/file/running-process.ts'
import { call } from '../support/client.ts'
import { CHANGING } from '../support/open-lock.ts'
import { NPM_START, newcomerFolder } from '../support/process.ts'
import { type Supervised, startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { openEnd, startSocketUpstream } from '../support/websocket-sockets.ts'
import { startLoad } from './load.ts'

t.jobs = 3

/* How a gateway ends. */

t.test('a request that does not end in the time of `drain` is cut off, and the exit code is 1', async t => {
  // There is no WebSocket: only so that a busy machine has time enough for what follows.
  const gateway = await startSupervised(t, { environment: { DRAIN__REQUESTS: '1s', DRAIN__WEBSOCKETS: '60s' } })
  gateway.backend.answer = (_request, response) => void response.write('the beginning')
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write(`GET /api/v1/c/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.token}\r\n\r\n`)
  await once(socket, 'data')
  t.equal(await gateway.end('SIGTERM'), 1)
  t.match(gateway.output(), /stopped immediately: requests were still in progress when the time of `drain` was over/)
  t.notMatch(gateway.output(), /closed by the gateway/, 'no fault of the upstream is logged')
})

t.test(
  'a gateway that stops sends its last webhooks for as long as it may, however late the last WebSocket ends',
  async t => {
    const receiver = await startUpstream({ answer: () => undefined })
    t.teardown(() => receiver.close())
    const backend = await startSocketUpstream(t)
    const gateway = await startSupervised(t, {
      environment: {
        EVENTS__WEBHOOKS: `[{url: "${receiver.url}", secret: ${generateSecret()}}]`,
        // No request is in progress: only so that a busy machine has time enough.
        DRAIN__REQUESTS: '60s',
        DRAIN__WEBSOCKETS: '1ms',
      },
      files: {
        'config/upstreams.yaml': `upstreams: [{ name: live, match: /api, target: "${backend.url}", websocket: {} }]\n`,
      },
    })
    // Several, so that no worker has none: each is closed after the grace of idle connections, and no event is accepted.
    for (let number = 0; number < 4; number++) {
      await gateway.operate('consumer', 'login', { user_id: `${number}` })
      await openEnd(t, gateway.url, { token: gateway.token })
    }
    t.equal(await gateway.end('SIGTERM'), 0)
    t.equal(gateway.logged('webhook events dropped').length, 2, 'each worker has ended by itself')
    t.notMatch(gateway.output(), /stopped immediately/)
  },
)

t.test('a worker has time to record what follows its last request or WebSocket', async t => {
  for (const drain of [
    { requests: 1, websockets: 1 },
    { requests: 20_000, websockets: 1 },
    { requests: 1, websockets: 20_000 },
  ])
    t.ok(endLimit(drain) > Math.max(drain.requests, IDLE_GRACE + drain.websockets) + RECORDS_LIMIT)
})

t.test('a worker that hangs is stopped, and the reason is no other', async t => {
  const gateway = await startSupervised(t, { environment: { DRAIN__REQUESTS: '1ms', DRAIN__WEBSOCKETS: '1ms' } })
  process.kill(gateway.workers()[0]!, 'SIGSTOP')
  t.equal(await gateway.end('SIGTERM'), 1)
  t.match(gateway.output(), /^dualgate: stopped immediately: its work was not done within \d+\.\d+ seconds$/m)
  t.same(gateway.logged('a worker crashed'), [])
})

/** Requests whose answers the backend holds; several, so that each worker has some. `answer` sends the answers. */
async function askHeld(gateway: Supervised) {
  const held: ServerResponse[] = []
  gateway.backend.answer = (_request, response) => void held.push(response)
  const asked = Array.from({ length: 8 }, () =>
    call(gateway.url, { path: '/api/v1/c/x', token: gateway.token }).then(
      ({ text }) => text,
      (fault: NodeJS.ErrnoException) => fault.code!,
    ),
  )
  await until(() => held.length === asked.length)
  return {
    asked,
    async answer(): Promise<Set<string>> {
      for (const response of held) response.end('answered')
      return new Set(await Promise.all(asked))
    },
  }
}

t.test('a worker that dies while it finishes its requests is logged, and the exit code is 1', async t => {
  const gateway = await startSupervised(t, { environment: { DRAIN__REQUESTS: '300s' } })
  const { asked, answer } = await askHeld(gateway)
  const [worker] = gateway.workers()
  const ended = gateway.end('SIGTERM')
  const accepts = () =>
    call(gateway.url, { path: '/livez' }).then(
      () => true,
      () => false,
    )
  t.ok(await until(async () => !(await accepts())))
  process.kill(worker!, 'SIGKILL')
  t.equal(await Promise.race(asked), 'ECONNRESET')
  t.same(await answer(), new Set(['ECONNRESET', 'answered']), 'the other worker finishes')
  t.equal(await ended, 1)
  t.match(gateway.logged('a worker crashed'), [{ worker, end: 'SIGKILL', again_in_ms: undefined }])
  t.match(gateway.output(), /^dualgate: stopped immediately: a worker crashed before its work was done$/m)
})

t.test('a worker of the previous configuration that dies while it finishes its requests is logged', async t => {
  const gateway = await startSupervised(t, { environment: { DRAIN__REQUESTS: '300s' } })
  const { asked, answer } = await askHeld(gateway)
  const [worker] = gateway.workers()
  t.equal((await gateway.reload()).code, 0)
  process.kill(worker!, 'SIGKILL')
  t.equal(await Promise.race(asked), 'ECONNRESET')
  t.same(await answer(), new Set(['ECONNRESET', 'answered']))
  const stopped = () => gateway.logged('workers of the previous configuration were stopped')
  t.ok(await until(() => stopped().length === 1))
  t.match(stopped(), [{ reason: 'a worker crashed before its work was done' }])
  t.match(gateway.logged('a worker crashed'), [{ worker, end: 'SIGKILL' }])
  const metrics = async () => (await call(gateway.internal, { path: '/metrics' })).text
  t.ok(await until(async () => /^dualgate_worker_crashes_total 1$/m.test(await metrics())))
  t.equal(await gateway.end('SIGTERM'), 0, 'the stop itself cuts off nothing')
})

for (const workers of ['1', '2']) {
  t.test(
    `SIGTERM during the start ends it with exit code 0 and prints no fault, with ${workers} of workers`,
    async t => {
      const { folder, remove } = newcomerFolder()
      t.teardown(remove)
      const env = { PATH: process.env.PATH, LISTEN__PORT: '0', INTERNAL__PORT: '0', WORKERS: workers }
      // The secrets are the last thing that a start makes before it opens the gateway.
      const child = spawn(process.execPath, NPM_START, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
      let printed = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (printed += chunk))
      const closed = once(child, 'close')
      await until(() => existsSync(join(folder, 'data/jwt.secret')))
      child.kill('SIGTERM')
      t.same(await closed, [0, null])
      t.notMatch(printed, /Error|EPIPE/)
    },
  )

  t.test(`SIGTERM under load loses no request that was accepted, with ${workers} of workers`, async t => {
    const gateway = await startSupervised(t, { environment: { WORKERS: workers } })
    gateway.backend.answer = (_request, response) => void setTimeout(() => response.end('late'), 300)
    const options = { token: gateway.token, path: '/api/v1/c/x', expected: 'late', clients: 24, rate: 100, fresh: 0 }
    const load = startLoad(t, gateway.url, options)
    t.ok(await until(() => load.outcome.answered > 100))
    t.equal(await gateway.end('SIGTERM'), 0)
    const { failures } = await load.stop()
    t.ok(failures.length > 0, 'clients went on')
    // Of a new connection that no process has accepted, the kernel resets what waited for one that accepts.
    for (const failure of new Set(failures))
      t.match(failure, /^new connection: ECONN(REFUSED|RESET)$/, 'no process accepts any more')
  })

  t.test(
    `readiness ends with the first signal, and the operations go on until the last answer, ${workers} of workers`,
    async t => {
      const gateway = await startSupervised(t, { environment: { WORKERS: workers } })
      let release = (): void => {}
      gateway.backend.answer = (_request, response) => {
        release = () => void response.end('released')
      }
      const pending = call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })
      t.ok(await until(() => gateway.backend.open === 1))
      t.equal((await call(gateway.internal, { path: '/readyz' })).status, 200)
      const ended = gateway.end('SIGTERM')
      // A probe that meets a worker which ends is reset, and asks again.
      const answers = (path: string, status: number) =>
        until(async () => (await call(gateway.internal, { path }).catch(() => null))?.status === status)
      t.ok(await answers('/readyz', 503))
      t.ok(await answers('/livez', 200))
      release()
      t.equal((await pending).text, 'released')
      t.equal(await ended, 0)
    },
  )
}

t.test('a client that connects during the shutdown is refused at once', async t => {
  const gateway = await startSupervised(t)
  const answers: (() => void)[] = []
  gateway.backend.answer = ({ url }, response) => {
    if (url?.endsWith('slow') === true) answers.push(() => void response.end('released'))
    else response.end()
  }
  const ask = (path: string) => call(gateway.url, { path: `/api/v1/c/${path}`, token: gateway.token })
  // Several, so that no worker has none.
  const pending = Array.from({ length: 8 }, () => ask('slow'))
  t.ok(await until(() => answers.length === pending.length))
  let isOver = false
  const clients = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      await ask('x').catch(() => new Promise(resolve => setTimeout(resolve, 5)))
    }
  })
  const ended = gateway.end('SIGTERM')
  await new Promise(resolve => setTimeout(resolve, 500))
  isOver = true
  // None of them waits for the slow requests, which end only afterwards.
  await Promise.all(clients)
  for (const answer of answers) answer()
  for (const { text } of await Promise.all(pending)) t.equal(text, 'released')
  t.equal(await ended, 0)
})

t.test('workers that open their store when the gateway stops end at once, without waiting for it', async t => {
  const gateway = await startSupervised(t)
  // The store is opened when no process changes it, and until then it is being opened.
  const store = join(gateway.folder, 'data', 'sessions.mdb')
  writeFileSync(join(`${store}-processes`, ownFileName('changing')), CHANGING)
  process.kill(gateway.child.pid!, 'SIGHUP')
  t.ok(await until(() => readdirSync(`${store}-opening`).length > 0))
  const workers = gateway.workers()
  t.equal(await gateway.end('SIGTERM'), 0)
  t.ok(await until(() => workers.every(isGone)))
  t.same(gateway.logged('a worker crashed'), [])
  const [{ err }] = gateway.logged('not reloaded; the gateway continues with the previous configuration') as [any]
  t.match(err.message, 'a worker ended with SIGKILL before it answered', 'an exit could wait for the store for ever')
})

t.test('a connection to the control socket that brings no command does not keep a gateway from ending', async t => {
  const gateway = await startSupervised(t)
  const silent = connect(join(gateway.folder, 'data/control.sock'))
  t.teardown(() => silent.destroy())
  await once(silent, 'connect')
  t.equal(await gateway.end('SIGTERM'), 0)
})

/** A module with which a primary gets the last answers of new workers when SIGTERM has come. */
const LATE_ANSWERS = `
const cluster = require('node:cluster')
let held = null
process.on('SIGUSR2', () => { held = [] })
cluster.on('fork', worker => {
  const { emit } = worker
  worker.emit = (name, ...words) => {
    if (held === null || name !== 'message' || words[0].kind !== 'serving') return emit.call(worker, name, ...words)
    held.push(() => emit.call(worker, name, ...words))
    if (held.length < 2) return true
    process.emit('SIGTERM', 'SIGTERM')
    setTimeout(() => { for (const release of held.splice(0)) release() }, 1)
    return true
  }
})`

t.test('a stop ends new workers whose answers to a reload are on their way, and restarts none of them', async t => {
  const file = join(t.testdir(), 'late.cjs')
  writeFileSync(file, LATE_ANSWERS)
  const gateway = await startSupervised(t, { environment: { NODE_OPTIONS: `--require "${file}"` } })
  const ended = once(gateway.child, 'exit')
  process.kill(gateway.child.pid!, 'SIGUSR2')
  process.kill(gateway.child.pid!, 'SIGHUP')
  t.same(await ended, [0, null])
  t.same(gateway.logged('a worker crashed'), [])
  t.equal(gateway.logged('not reloaded; the gateway continues with the previous configuration').length, 1)
})

/** A module with which SIGUSR2 begins a reload, and SIGTERM comes while it reads the accounts file. */
const STOP_IN_CHECK = `
const fs = require('node:fs')
const { readFileSync } = fs
let isReloading = false
process.on('SIGUSR2', () => {
  isReloading = true
  process.emit('SIGHUP', 'SIGHUP')
})
fs.readFileSync = (file, ...words) => {
  if (isReloading && String(file).endsWith('accounts.yaml')) {
    isReloading = false
    process.emit('SIGTERM', 'SIGTERM')
  }
  return readFileSync(file, ...words)
}`

t.test('a stop while a reload checks the accounts file is not lost, and starts no worker', async t => {
  const file = join(t.testdir(), 'stop-in-check.cjs')
  writeFileSync(file, STOP_IN_CHECK)
  // So many that they are read with pauses.
  const accounts = Array.from({ length: 100 }, (_, id) => `  - { id: s${id}, username: s${id}, service: true }\n`)
  const gateway = await startSupervised(t, {
    environment: { NODE_OPTIONS: `--require "${file}"` },
    files: { 'config/accounts.yaml': `accounts:\n${accounts.join('')}` },
  })
  process.kill(gateway.child.pid!, 'SIGUSR2')
  await until(() => gateway.child.exitCode !== null || gateway.logged('the configuration was reloaded').length > 0)
  t.equal(gateway.child.exitCode, 0)
  const refused = gateway.logged('not reloaded; the gateway continues with the previous configuration')
  t.match(refused, [{ err: { message: 'the gateway is stopping' } }])
})

t.test('without their primary workers end', async t => {
  const gateway = await startSupervised(t)
  const workers = gateway.workers()
  t.equal(workers.length, 2)
  await gateway.end('SIGKILL')
  t.ok(await until(() => workers.every(isGone)))
})

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

t.test('a signal to the whole process group is handled by the primary', async t => {
  const gateway = await startSupervised(t)
  const workers = gateway.workers()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    for (const worker of workers) process.kill(worker, signal)
  t.equal((await call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })).status, 200)
  t.same(gateway.workers(), workers)
  t.equal(await gateway.end('SIGINT'), 0)
})
