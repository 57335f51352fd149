import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { TICKET_KEY_LIFETIME, watchCertificate } from '../../src/process/certificate-watch.ts'
import { type Certificate, readCertificate } from '../../src/settings/tls.ts'
import { clockOf } from '../support/clock.ts'
import { until } from '../support/until.ts'

t.test('the key of TLS session tickets is replaced once an hour, and the certificate stays', async t => {
  const folder = t.testdir()
  const files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=x']
  execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', files.key, '-out', files.cert], { stdio: 'ignore' })
  const first = readCertificate(files)
  const renewed: Certificate[] = []
  let now = 0
  const clock = clockOf(() => now)
  const watch = watchCertificate(files, first, pino({ level: 'silent' }), async one => void renewed.push(one), clock)
  t.teardown(() => watch.close())
  for (let hour = 1; hour <= 2; hour++) {
    now += TICKET_KEY_LIFETIME
    t.ok(await until(() => renewed.length >= hour))
  }
  t.equal(renewed.length, 2, 'once each')
  for (const { cert, key } of renewed) t.same([cert, key], [first.cert, first.key])
  t.equal(new Set([first, ...renewed].map(({ ticketKeys }) => ticketKeys)).size, 3)
})
