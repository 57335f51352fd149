import { readFileSync } from 'node:fs'
import t from 'tap'
import { call } from '../support/client.ts'
import { documentText, GUIDE } from '../support/documents.ts'
import { ADMIN, withEveryStore } from '../support/gateway-fixture.ts'
import { runPromtool, withoutPromtool } from '../support/promtool.ts'
import { type Supervised, startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'

/** The value of a metric with just these labels; `null` without one. */
function readMetric(text: string, name: string, labels: Record<string, string> = {}): number | null {
  for (const line of text.split('\n')) {
    const [, found, written = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (found !== name) continue
    const own = Object.fromEntries([...written.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, key, word]) => [key, word]))
    if (Object.entries(labels).every(([key, word]) => own[key] === word)) return Number(value)
  }
  return null
}

/** What a gateway of several workers answers once each of them reports in time: a busy one may not, and then there is no sum. */
const metricsOf = ({ internal }: Supervised): Promise<string> =>
  until(async () => {
    const { status, text } = await call(internal, { path: '/metrics' })
    if (status !== 200 && status !== 503) throw new Error(`answered with ${status}: ${text}`)
    return status === 200 && text
  })

withEveryStore(t, async (t, fixture) => {
  const metrics = async (): Promise<string> => (await call(fixture.internal, { path: '/metrics' })).text

  t.test('a request is counted by its rule, side, upstream and status', async t => {
    const { token } = (await fixture.operate('consumer', 'login', { user_id: '7' })).data
    const labels = { rule: '4', side: 'CONSUMER', upstream: fixture.settings.upstreams[0]!.name, status: '2xx' }
    const before = readMetric(await metrics(), 'dualgate_requests_total', labels) ?? 0
    for (let i = 0; i < 3; i++) await fixture.get('/api/v1/c/orders', token)
    const after = await metrics()
    t.equal(readMetric(after, 'dualgate_requests_total', labels), before + 3)
    t.ok(readMetric(after, 'dualgate_request_duration_seconds_count', { upstream: labels.upstream })! >= 3)
  })

  t.test('a refusal is counted by its reason', async t => {
    const count = async (): Promise<number> =>
      readMetric(await metrics(), 'dualgate_refusals_total', { reason: 'NOT_LOGGED_IN' }) ?? 0
    const before = await count()
    await fixture.get('/api/v1/c/orders')
    t.equal(await count(), before + 1)
  })

  t.test('a refusal of the internal listener is counted and logged, other requests to it are not', async t => {
    const count = async (reason: string): Promise<number> =>
      readMetric(await metrics(), 'dualgate_refusals_total', { reason }) ?? 0
    const counts = () => Promise.all(['WRONG_SECRET', 'NOT_LOGGED_IN'].map(count))
    const logged = () =>
      fixture.log.flatMap(line => {
        const { msg, route, status, refused } = JSON.parse(line)
        return msg === 'request' && typeof route === 'string' ? [{ route, status, refused }] : []
      })
    const served = async () =>
      readMetric(await metrics(), 'dualgate_request_duration_seconds_count', { upstream: 'gateway' })
    const [before, linesBefore, servedBefore] = [await counts(), logged().length, await served()]
    const path = '/operations/v1/business/kickout'
    await call(fixture.internal, { method: 'POST', path, token: 'not the secret' })
    await call(fixture.internal, { path: '/verify/api/v1/c/orders' })
    await call(fixture.internal, { path: '/livez' })
    t.same(
      await counts(),
      before.map(number => number + 1),
    )
    t.same(logged().slice(linesBefore), [
      { route: path, status: 401, refused: 'WRONG_SECRET' },
      { route: '/verify/*', status: 401, refused: 'NOT_LOGGED_IN' },
    ])
    t.equal(await served(), servedBefore)
  })

  t.test('logins are counted by their result, and online users are queried', async t => {
    const name = 'dualgate_logins_total'
    const before = await metrics()
    await fixture.signIn()
    await fixture.post('/api/v1/public/b/login', await fixture.credentials(ADMIN.username, 'not the password'))
    const after = await metrics()
    const rise = (labels: Record<string, string>): number =>
      (readMetric(after, name, labels) ?? 0) - (readMetric(before, name, labels) ?? 0)
    t.equal(rise({ side: 'BUSINESS', result: 'ok' }), 1)
    t.equal(rise({ side: 'BUSINESS', result: 'WRONG_CREDENTIALS' }), 1)
    t.ok(readMetric(after, 'dualgate_online_users', { side: 'BUSINESS' })! >= 1)
    t.ok(readMetric(after, 'dualgate_live_tokens', { side: 'BUSINESS' })! >= 1)
    t.ok(readMetric(after, 'dualgate_store_duration_seconds_count', { verb: 'add' })! >= 1)
  })

  t.test('the targets of the upstreams are shown', async t => {
    const { name, target = '' } = fixture.settings.upstreams[0]!
    const shown = await metrics()
    t.equal(readMetric(shown, 'dualgate_upstream_target_up', { upstream: name, target }), 1)
    t.equal(readMetric(shown, 'dualgate_upstream_target_weight', { upstream: name, target }), 1)
    t.equal(readMetric(shown, 'dualgate_upstream_requests_in_flight', { upstream: name, target }), 0)
    t.equal(readMetric(shown, 'dualgate_websockets'), 0)
  })

  t.test('no label contains input of a client', async t => {
    // No number: the labels have the ports of targets.
    const { token } = (await fixture.operate('consumer', 'login', { user_id: 'u-xyzzy' })).data
    await fixture.get('/api/v1/c/path-xyzzy?q=xyzzy', token)
    t.notMatch(await metrics(), 'xyzzy')
  })
})

t.test('the metrics of all workers are one answer, and stay when a worker is replaced', async t => {
  const gateway = await startSupervised(t)
  const labels = { upstream: 'backend', status: '2xx' }
  const count = async (): Promise<number | null> =>
    readMetric(await metricsOf(gateway), 'dualgate_requests_total', labels)
  for (let i = 0; i < 20; i++) await call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })
  t.equal(await count(), 20)
  t.equal((await gateway.reload()).code, 0)
  for (let i = 0; i < 5; i++) await call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })
  t.equal(await count(), 25)
})

t.test('metrics say which version runs since when, and whether the last reload succeeded', async t => {
  const gateway = await startSupervised(t)
  const metrics = () => metricsOf(gateway)
  const [wasOk, successAt] = ['successful', 'success_timestamp_seconds'].map(
    end => `dualgate_config_last_reload_${end}`,
  )
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))

  const started = await metrics()
  t.equal(readMetric(started, 'dualgate_build_info', { version, node: process.versions.node }), 1)
  t.match([...started.matchAll(/^dualgate_build_info/gm)], { length: 1 }, 'once for all workers')
  const since = readMetric(started, 'process_start_time_seconds')!
  const startedAt = readMetric(started, successAt!)!
  t.equal(readMetric(started, wasOk!), 1, 'the start counts')
  t.ok(since < startedAt)

  gateway.write('config/upstreams.yaml', 'upstreams: wrong\n')
  process.kill(gateway.child.pid!, 'SIGHUP')
  t.ok(await until(async () => readMetric(await metrics(), wasOk!) === 0))
  t.equal(readMetric(await metrics(), successAt!), startedAt)

  gateway.writeUpstream('second')
  t.equal((await gateway.reload()).code, 0)
  const reloaded = await metrics()
  t.equal(readMetric(reloaded, wasOk!), 1)
  t.ok(readMetric(reloaded, successAt!)! > startedAt)
  t.equal(readMetric(reloaded, 'process_start_time_seconds'), since, 'new workers are no new start')
})

t.test('counters of failures are there before the first failure, so that alerts see it', async t => {
  const gateway = await startSupervised(t)
  const text = await metricsOf(gateway)
  t.equal(readMetric(text, 'dualgate_store_errors_total', { verb: 'find' }), 0)
  t.equal(readMetric(text, 'dualgate_journal_entries_total', { result: 'lost' }), 0)
  for (const name of ['worker_crashes', 'journal_failures', 'store_unreplicated'])
    t.equal(readMetric(text, `dualgate_${name}_total`), 0, name)
})

t.test('promtool finds no fault in the names and types of the metrics', { skip: withoutPromtool }, async t => {
  const gateway = await startSupervised(t)
  await call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })
  const text = await metricsOf(gateway)
  t.same(runPromtool(['check', 'metrics'], text), { code: 0, said: '' })
})

t.test('guide and dashboard name exactly the existing metrics, and alerts no other', async t => {
  const gateway = await startSupervised(t)
  const text = await metricsOf(gateway)
  const all = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!)
  const ours = all.filter(name => name.startsWith('dualgate_')).sort()
  const namedIn = (written: string): string[] => [...new Set([...written.matchAll(/\bdualgate_[a-z_]+/g)].map(String))]

  t.same(namedIn(documentText(GUIDE)).sort(), ours)
  const dashboard = readFileSync('config/examples/grafana/dashboard.json', 'utf8')
  t.type(JSON.parse(dashboard).panels, Array)
  t.same([...new Set(namedIn(dashboard).map(name => name.replace(/_bucket$/, '')))].sort(), ours)
  const alerts = readFileSync('config/examples/prometheus/alerts.yaml', 'utf8')
  for (const name of namedIn(alerts)) t.ok(ours.includes(name), `${name} in an alert`)
  for (const [name] of `${alerts}${dashboard}`.matchAll(/\b(?:nodejs|process)_[a-z0-9_]+/g))
    t.ok(all.includes(name), name)
})
