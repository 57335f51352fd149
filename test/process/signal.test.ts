import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { call } from '../support/client.ts'
import { run } from '../support/command-line.ts'
import { ownPorts } from '../support/ports.ts'
import { killAtEnd, NPM_START, newcomerFolder } from '../support/process.ts'
import { startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'

t.jobs = 2

/* What a reload applies, what it refuses, and how it reports this. */

t.test('SIGHUP reloads, and the result is logged', async t => {
  const gateway = await startSupervised(t)
  gateway.writeUpstream('second')
  gateway.child.kill('SIGHUP')
  t.ok(await until(() => gateway.logged('the configuration was reloaded').length === 1))
  t.match((await call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })).text, '/second/')

  gateway.write('config/upstreams.yaml', 'upstreams: [{ name: 7 }]\n')
  gateway.child.kill('SIGHUP')
  const refused = () => gateway.logged('not reloaded; the gateway continues with the previous configuration')
  t.ok(await until(() => refused().length === 1))
  t.match(refused()[0]?.faults, [{ place: /upstreams\.yaml/ }], 'with every fault')
  t.match((await call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })).text, '/second/')
})

t.test('a gateway that gets SIGHUP while it starts reloads when it has started', async t => {
  const { folder, remove } = newcomerFolder()
  t.teardown(remove)
  const environment = { PATH: process.env.PATH, WORKERS: '2', LISTEN__PORT: '0', INTERNAL__PORT: '0' }
  const child = spawn(process.execPath, NPM_START, {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  killAtEnd(t, child)
  let output = ''
  child.stdout.on('data', chunk => {
    // It says this before it listens.
    if (output === '') child.kill('SIGHUP')
    output += chunk
  })
  const isReloaded = (): boolean => output.includes('the configuration was reloaded')
  t.ok(await until(() => isReloaded() || child.signalCode !== null))
  t.equal(child.signalCode, null)
  t.ok(output.startsWith('first account, in '))
})

t.test('a client that is passed to a stopping worker is answered by another worker', async t => {
  const gateway = await startSupervised(t, { environment: { LOG__ACCESS: 'on' } })
  const ask = () => call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })
  for (let round = 1; round <= 3; round++) {
    const leaving = await until(() => {
      const found = gateway.workers()
      // Those of the round before have ended.
      return found.length === 2 && found
    })
    for (const worker of leaving) process.kill(worker, 'SIGSTOP')
    gateway.child.kill('SIGHUP')
    const clients: ReturnType<typeof ask>[] = []
    let answered = 0
    // Each leaving worker keeps one of these.
    await until(() => {
      if (clients.length - answered < 4) clients.push(ask().finally(() => answered++))
      const served = new Set(gateway.logged('request').map(({ pid }) => pid))
      const added = gateway.workers().filter(worker => !leaving.includes(worker))
      return added.length === 2 && added.every(worker => served.has(worker))
    })
    // With the last answer of the new workers, the leaving ones were ordered to close. They read that first.
    clients.push(...Array.from({ length: 16 }, ask))
    for (const worker of leaving) process.kill(worker, 'SIGCONT')
    for (const { status } of await Promise.all(clients)) t.equal(status, 200)
  }
})

t.test('a crashed worker restarts with the checked configuration, even if the files have changed', async t => {
  const gateway = await startSupervised(t, { environment: await ownPorts() })
  gateway.write('config/upstreams.yaml', 'upstreams: [{ name: 7 }]\n')
  for (const worker of gateway.workers()) process.kill(worker, 'SIGKILL')
  const served = () => call(gateway.url, { path: '/api/v1/c/x', token: gateway.token }).catch(() => null)
  t.ok(await until(async () => (await served())?.text.includes('/first/') === true))
})

t.test('addresses and the data folder change only with a restart', async t => {
  const gateway = await startSupervised(t)
  gateway.write('.env', 'INTERNAL__SOCKET=data/internal.sock\n')
  const { code, errors } = await gateway.reload()
  t.equal(code, 1)
  t.equal(errors, 'dualgate: not reloaded: internal.socket cannot change while the gateway runs; restart it\n')

  gateway.write('.env', 'DATA=elsewhere\n')
  gateway.child.kill('SIGHUP')
  const refused = () => gateway.logged('not reloaded; the gateway continues with the previous configuration')
  t.ok(await until(() => refused().length === 2))
  t.match(refused()[1], { err: { message: 'data cannot change while the gateway runs; restart it' } })
  t.notOk(existsSync(join(gateway.folder, 'elsewhere')), 'what is refused makes no folder and no secrets')
})

t.test('a single process cannot reload, and reports this', async t => {
  const gateway = await startSupervised(t, { environment: { WORKERS: '1' } })
  t.same(gateway.workers(), [])
  const { code, errors } = await gateway.reload()
  t.equal(code, 1)
  t.match(errors, /^dualgate: not reloaded: .*restart/)
  gateway.child.kill('SIGHUP')
  t.ok(
    await until(
      () => gateway.logged('not reloaded; the gateway continues with the previous configuration').length === 2,
    ),
  )
  t.equal((await call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })).status, 200)
})

t.test('the number of workers changes with a reload', async t => {
  const gateway = await startSupervised(t, { environment: { WORKERS: '' } })
  gateway.write('.env', 'WORKERS=3\n')
  t.equal((await gateway.reload()).code, 0)
  t.ok(await until(() => gateway.workers().length === 3))
})

t.test('without a gateway there is nothing to reload', async t => {
  const gateway = await startSupervised(t)
  await gateway.end('SIGTERM')
  const { code, errors } = await gateway.reload()
  t.equal(code, 1)
  t.match(
    errors,
    /^dualgate: no gateway runs with the data folder \S+; run this in the folder of the gateway; a changed `data` needs a restart$/m,
  )
  t.equal((await run(gateway.folder, ['reload', 'now'])).code, 2)
})
