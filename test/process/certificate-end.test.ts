import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { endOf, readCertificate } from '../../src/settings/tls.ts'
import { call } from '../support/client.ts'
import { run } from '../support/command-line.ts'
import { openFixture } from '../support/gateway-fixture.ts'
import { startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'

/* A certificate that expires is seen before clients see it. */

const FOLDER = t.testdir()

const DAY = 86_400_000

/** A certificate that is valid for so many days, and was so for `daysBefore`. */
function validFor(days: number, daysBefore = 0): { cert: string; key: string } {
  const files = { cert: join(FOLDER, `${days}.crt`), key: join(FOLDER, `${days}.key`) }
  const openssl = (...words: string[]): void => void execFileSync('openssl', words, { stdio: 'ignore', cwd: FOLDER })
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=x']
  const request = `${days}.csr`
  openssl('req', ...curve, '-keyout', files.key, '-out', request)
  const [from, to] = [-daysBefore, days].map(shift => {
    const time = new Date(systemClock.now() + shift * DAY).toISOString()
    return `${time.replace(/[-:T]|\..*/g, '')}Z`
  })
  // `req` makes none that begins in the past.
  writeFileSync(join(FOLDER, 'index'), '')
  const authority = ['-config', 'authority', '-selfsign', '-keyfile', files.key, '-notext', '-md', 'sha256']
  openssl('ca', '-batch', ...authority, '-startdate', from!, '-enddate', to!, '-in', request, '-out', files.cert)
  return files
}

writeFileSync(
  join(FOLDER, 'authority'),
  '[ca]\ndefault_ca = x\n[x]\ndatabase = index\nnew_certs_dir = .\nrand_serial = yes\npolicy = y\n[y]\ncommonName = supplied\n',
)

const [short, long, longer] = [validFor(2, 60), validFor(40, 60), validFor(80)]

async function warningsAt(internal: string): Promise<string[]> {
  const { warnings } = (await call(internal, { path: '/readyz' })).json()
  return warnings.filter((text: string) => /expire/.test(text))
}

async function metricAt(internal: string): Promise<number | null> {
  const { text } = await call(internal, { path: '/metrics' })
  const found = /^dualgate_certificate_not_after_seconds\{listener="public"\} (\S+)$/m.exec(text)
  return found === null ? null : Number(found[1])
}

/** The end as the metric has it, in seconds. */
const secondsOf = (files: { cert: string; key: string }): number => endOf(readCertificate(files)) / 1000

t.test('readyz warns of a certificate that gets older while the gateway runs, until it is renewed', async t => {
  const fixture = await openFixture(t, { config: { listen: { host: '127.0.0.1', port: 0, tls: long } } })
  t.same(await warningsAt(fixture.internal), [])
  t.equal(await metricAt(fixture.internal), secondsOf(long))
  await fixture.elapse(20 * DAY)
  t.match(await warningsAt(fixture.internal), [/40\.crt expires at .*, in 19 days; replace/])
  await fixture.elapse(20 * DAY)
  t.match(await warningsAt(fixture.internal), [/40\.crt expired at .*, and clients refuse to connect; replace/])

  fixture.gateway.renewCertificate(readCertificate(longer))
  t.same(await warningsAt(fixture.internal), [])
  t.equal(await metricAt(fixture.internal), secondsOf(longer))
})

t.test('readyz warns of the client certificate of an upstream, as it was at the start', async t => {
  const target = 'https://127.0.0.1:1'
  const tls = validFor(41, 60)
  const fixture = await openFixture(t, { upstreams: [{ name: 'secured', match: '/api/secured', target, tls }] })
  t.same(await warningsAt(fixture.internal), [])
  writeFileSync(tls.cert, readFileSync(longer.cert))
  await fixture.elapse(21 * DAY)
  t.match(await warningsAt(fixture.internal), [/41\.crt expires at .*, in 19 days; .* then run `dualgate reload`$/])
  await fixture.elapse(20 * DAY)
  t.match(await warningsAt(fixture.internal), [/41\.crt expired at .*, and targets refuse the gateway; replace/])
})

const texts = ({ cert, key }: { cert: string; key: string }) => ({
  'tls.crt': readFileSync(cert, 'utf8'),
  'tls.key': readFileSync(key, 'utf8'),
})

async function renewedWhileRunning(t: Test, workers: string): Promise<void> {
  const environment = { WORKERS: workers, LISTEN__TLS: '{ cert: tls.crt, key: tls.key }' }
  const gateway = await startSupervised(t, { environment, files: texts(short) })
  const warning = /tls\.crt expires at .*, in 1 day; replace the certificate/
  t.match(gateway.output(), warning, 'the start warns')
  t.match((await run(gateway.folder, ['check'], { environment })).output, warning, 'so does check')
  t.match(await warningsAt(gateway.internal), [warning])
  t.ok(await until(async () => (await metricAt(gateway.internal)) === secondsOf(short)))

  for (const [file, text] of Object.entries(texts(long))) gateway.write(file, text)
  t.ok(await until(async () => (await metricAt(gateway.internal)) === secondsOf(long)), 'in every worker')
  t.same(await warningsAt(gateway.internal), [])
}

for (const workers of ['1', '2'])
  t.test(`a renewed certificate ends the warning, with ${workers} of workers`, t => renewedWhileRunning(t, workers))

t.test('a gateway without a certificate has no such metric', async t => {
  const fixture = await openFixture(t)
  t.equal(await metricAt(fixture.internal), null)
})
