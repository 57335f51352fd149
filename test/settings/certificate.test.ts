import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readConfiguration } from '../../src/settings/load.ts'
import { endOf, readCertificate } from '../../src/settings/tls.ts'
import { clockOf } from '../support/clock.ts'
import { BESIDE, faultsOf, folderWith, settingsOf } from './folder.ts'

/* The certificate of the public port is checked before anything listens with it. */

const FOLDER = t.testdir()
const openssl = (...words: string[]): void => void execFileSync('openssl', words, { stdio: 'ignore' })

function pair(name: string, days = 2): { cert: string; key: string } {
  const files = { cert: join(FOLDER, `${name}.crt`), key: join(FOLDER, `${name}.key`) }
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', String(days)]
  openssl('req', '-x509', ...curve, '-keyout', files.key, '-out', files.cert, '-subj', `/CN=${name}`)
  return files
}

const [one, two] = [pair('one'), pair('two')]
const yamlOf = ({ cert, key }: { cert: string; key: string }): string =>
  `listen: { tls: { cert: ${cert}, key: ${key} } }\n`

t.test('a certificate and its key are accepted', async t => {
  t.same(settingsOf(t, yamlOf(one)).listen.tls, one)
  const { cert, key, ticketKeys } = readCertificate(one)
  t.same({ cert, key }, { cert: readFileSync(one.cert, 'utf8'), key: readFileSync(one.key, 'utf8') })
  t.equal(Buffer.from(ticketKeys, 'base64').length, 48)
  t.not(readCertificate(one).ticketKeys, ticketKeys)
})

t.test('an unusable certificate is a fault of the configuration, and nothing of the key is shown', async t => {
  const encrypted = join(FOLDER, 'encrypted.key')
  openssl('pkey', '-in', one.key, '-aes256', '-passout', 'pass:word', '-out', encrypted)
  const nonsense = join(FOLDER, 'nonsense')
  writeFileSync(nonsense, 'no PEM')
  const cases: [{ cert: string; key: string }, RegExp][] = [
    [{ ...one, cert: join(FOLDER, 'absent') }, /absent no such file/],
    [{ ...one, key: FOLDER }, /cannot be read \(EISDIR\)/],
    [{ ...one, cert: nonsense }, /nonsense holds no certificate in PEM form/],
    [{ ...one, key: nonsense }, /nonsense holds no private key in PEM form/],
    [{ ...one, key: encrypted }, /holds no private key in PEM form without a passphrase/],
    [{ ...one, key: two.key }, /two\.key is not the key of the certificate in .*one\.crt/],
  ]
  for (const [files, expected] of cases) {
    const faults = faultsOf(t, yamlOf(files))
    t.equal(faults.length, 1)
    t.match(faults[0], /^gateway\.yaml.* listen\.tls: /)
    t.match(faults[0], expected)
    t.notMatch(faults[0], /PRIVATE KEY|no PEM/)
  }
  t.match(faultsOf(t, 'listen: { tls: { cert: a } }\n'), [/listen\.tls\.key: is missing/])
})

const DAY = 86_400_000

for (const [lifetime, warned] of [
  [90, 21],
  [63, 21],
  [30, 10],
  [6, 2],
] as const)
  t.test(`a certificate of ${lifetime} days is warned of from ${warned} days before it expires`, async t => {
    const files = pair(`${lifetime}-days`, lifetime)
    const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': yamlOf(files) })
    const end = endOf(readCertificate(files))
    const date = `${new Date(end).toISOString().slice(0, 16)}Z`
    const warningsAt = (now: number): string[] =>
      readConfiguration('gateway.yaml', {}, folder, { clock: clockOf(() => now) }).warnings.map(
        ({ place, message }) => `${place} ${message}`,
      )
    const remedy = 'replace the certificate and its key, which are loaded without a restart'
    t.same(warningsAt(end - warned * DAY - 1), [])
    for (const [now, text] of [
      [end - warned * DAY, `expires at ${date}, in ${warned} days`],
      [end - 2 * DAY + 1, `expires at ${date}, in 1 day`],
      [end - 1, `expires at ${date}, in less than a day`],
      [end, `expired at ${date}, and clients refuse to connect`],
      [end + 90 * DAY, `expired at ${date}, and clients refuse to connect`],
    ] as const) {
      t.same(warningsAt(now), [`${files.cert} ${text}; ${remedy}`])
    }
    t.same(settingsOf(t, yamlOf(files)).warnings, [], 'readyz computes it anew')
  })

t.test('client certificates of upstreams are warned of in the same way, each file once', async t => {
  const files = pair('client', 90)
  const tls = `tls: { cert: ${files.cert}, key: ${files.key} }`
  const target = 'target: "https://127.0.0.1:1"'
  const upstreams = ['a', 'b'].map(name => `  - { name: ${name}, match: /api/${name}, ${target}, ${tls} }\n`)
  const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': `upstreams:\n${upstreams.join('')}` })
  const end = endOf(readCertificate(files))
  const warningsAt = (now: number): string[] =>
    readConfiguration('gateway.yaml', {}, folder, { clock: clockOf(() => now) })
      .warnings.map(({ place, message }) => `${place} ${message}`)
      .filter(text => text.startsWith(files.cert))
  t.same(warningsAt(end - 21 * DAY - 1), [])
  t.match(warningsAt(end - 21 * DAY), [/expires at .*, in 21 days; replace .* its key, then run `dualgate reload`$/])
  t.match(warningsAt(end), [/expired at .*, and targets refuse the gateway; replace/])
})

t.test('workers are auto or a number', async t => {
  t.equal(settingsOf(t, '').workers, 'auto')
  t.equal(settingsOf(t, '', { WORKERS: '3' }).workers, 3)
  for (const wrong of ['0', '65', 'many', '1.5'])
    t.match(faultsOf(t, '', { WORKERS: wrong }), [/must be auto, or a whole number from 1 to 64/])
})
