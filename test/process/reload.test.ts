import t from 'tap'
import { startLimit, storeLimit } from '../../src/process/orders.ts'
import { call } from '../support/client.ts'
import { startRedis, withoutRedis, withoutRedisServer } from '../support/redis-server.ts'
import { startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'
import { startLoad } from './load.ts'

/* The configuration changes while clients go on; none of them notices. */

for (const store of ['embedded', 'redis'] as const) {
  const skip = store === 'redis' && withoutRedis
  t.test(`no request fails in reloads under load, a faulty one among them, ${store} store`, { skip }, async t => {
    const gateway = await startSupervised(t, { store })
    const options = { token: gateway.token, path: '/api/v1/c/x', clients: 24 }
    const questions = startLoad(t, gateway.url, { ...options, rate: 200 })
    const uploads = startLoad(t, gateway.url, { ...options, clients: 8, rate: 30, body: 'x'.repeat(100_000) })

    for (const answer of ['second', 'third', 'faulty', 'fourth']) {
      const before = gateway.workers()
      if (answer === 'faulty') gateway.write('config/upstreams.yaml', 'upstreams: [{ name: 7 }]\n')
      else gateway.writeUpstream(answer)
      const { code, output, errors } = await gateway.reload()
      if (answer === 'faulty') {
        t.equal(code, 1)
        t.match(errors, /upstreams\.yaml/)
        const started = gateway.workers().filter(worker => !before.includes(worker))
        t.same(started, [], 'the workers of a faulty configuration are not even started')
        continue
      }
      t.equal(code, 0, errors)
      t.equal(output, 'reloaded config/gateway.yaml: 2 new workers answer\n')
      t.match((await call(gateway.url, options)).text, `/${answer}/`, 'what is asked afterwards gets the new answer')
    }

    const loads = [questions, uploads]
    t.ok(await until(() => loads.every(({ outcome }) => outcome.answered > 20)))
    const outcomes = await Promise.all(loads.map(load => load.stop()))
    t.same(
      outcomes.flatMap(({ failures }) => failures),
      [],
    )
    t.equal(await gateway.end('SIGTERM'), 0)
  })
}

t.test('a reload ends when no worker of the previous configuration accepts connections any more', async t => {
  const gateway = await startSupervised(t)
  const [hanging, other] = gateway.workers()
  process.kill(hanging!, 'SIGSTOP')
  gateway.writeUpstream('second')
  let isDone = false
  const reloaded = gateway.reload().finally(() => {
    isDone = true
  })
  t.ok(await until(() => !gateway.workers().includes(other!)), 'the other one has finished')
  t.notOk(isDone)
  const message = 'a worker of the previous configuration still accepts connections; the reload ends when it does not'
  t.ok(await until(() => gateway.logged(message).length > 0), 'the log says what the reload waits for')
  process.kill(hanging!, 'SIGCONT')
  t.equal((await reloaded).code, 0)
  for (let asked = 0; asked < 10; asked++)
    t.match((await call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })).text, '/second/')
})

t.test(
  'a reload is refused while the store does not answer, and the previous workers go on',
  { skip: withoutRedisServer },
  async t => {
    const redis = await startRedis()
    t.teardown(() => redis.stop())
    // An empty variable counts as not set, so the file decides: only the reload that must fail is impatient.
    const environment = { STORE__KIND: 'redis', STORE__REDIS__URL: redis.url, STORE__TIMEOUT: '' }
    const gateway = await startSupervised(t, { environment, files: { '.env': 'STORE__TIMEOUT=30s\n' } })
    const before = gateway.workers()
    gateway.write('.env', 'STORE__TIMEOUT=200ms\n')
    redis.pause()
    const { code, errors } = await gateway.reload()
    redis.resume()
    gateway.write('.env', 'STORE__TIMEOUT=30s\n')
    t.equal(code, 1)
    t.match(errors, /the new workers cannot start: their store did not answer within 2 seconds/)
    t.same(gateway.workers(), before)
    const ask = async () => (await call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })).status === 200
    t.ok(await until(ask))
    t.equal((await gateway.reload()).code, 0, 'it is applied when the store answers')
  },
)

t.test('new workers have time to wait for their store, however long its limit is', async t => {
  for (const timeout of [100, 1000, 31_000, 600_000]) {
    for (const replaces of [true, false]) t.ok(startLimit({ timeout }, replaces) > storeLimit({ timeout }, replaces))
  }
})
