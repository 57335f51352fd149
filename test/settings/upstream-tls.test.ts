import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { faultsOf, settingsOf } from './folder.ts'

/* What an upstream's `tls` names is read and checked with the configuration, and not with the first request. */

const FOLDER = t.testdir()
const FILES = { cert: join(FOLDER, 'a.crt'), key: join(FOLDER, 'a.key'), other: join(FOLDER, 'b.key') }
const nonsense = join(FOLDER, 'nonsense')
writeFileSync(nonsense, 'no PEM')
const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=a']
for (const key of [FILES.other, FILES.key]) {
  execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', FILES.cert], { stdio: 'ignore' })
}

const entryOf = (tls: string, target = 'https://127.0.0.1:1'): string =>
  `upstreams: [{ name: a, match: /api, target: "${target}", tls: ${tls} }]\n`

t.test('files and server names are accepted', async t => {
  const tls = { ca: FILES.cert, server_name: 'orders.internal', cert: FILES.cert, key: FILES.key }
  t.same(settingsOf(t, entryOf(JSON.stringify(tls))).upstreams[0]!.tls, tls)
})

t.test('every fault has its place and its remedy', async t => {
  const FAULTY: [tls: string, fault: RegExp][] = [
    [`{ ca: ${FOLDER}/none }`, /upstreams\[0\]\.tls: .*none no such file; tls\.ca names it$/],
    [`{ ca: ${nonsense} }`, /nonsense holds no certificate in PEM form$/],
    [`{ cert: ${FILES.cert} }`, /upstreams\[0\]\.tls: has only one of cert and key/],
    [`{ key: ${FILES.key} }`, /has only one of cert and key/],
    [`{ cert: ${nonsense}, key: ${FILES.key} }`, /nonsense holds no certificate/],
    [`{ cert: ${FILES.cert}, key: ${nonsense} }`, /nonsense holds no private key in PEM form/],
    [`{ cert: ${FILES.cert}, key: ${FILES.other} }`, /b\.key is not the key of the certificate in .*a\.crt$/],
    ['{ server_name: 10.0.0.5 }', /server_name: must be a host name/],
    ['{ verify: off }', /tls\.verify: unknown setting/],
  ]
  for (const [tls, fault] of FAULTY) {
    const faults = faultsOf(t, entryOf(tls))
    t.equal(faults.length, 1, tls)
    t.match(faults[0], fault)
    t.notMatch(faults[0], /PRIVATE KEY|no PEM/)
  }
  t.match(faultsOf(t, entryOf(`{ cert: ${FOLDER}/none, key: ${nonsense} }`)), [
    /none no such file; tls\.cert names it$/,
    /nonsense holds no private key/,
  ])
  t.match(faultsOf(t, entryOf(`{ ca: ${FILES.cert} }`, 'http://127.0.0.1:1')), [
    /has no effect, because no target begins/,
  ])
})

t.test('a file with a fault is named once, however many upstreams name it', async t => {
  const targetsWith = (...files: string[]): string =>
    files
      .map((ca, index) => `- { name: a${index}, match: /api/${index}, target: "https://a:1", tls: { ca: ${ca} } }\n`)
      .join('')
  const none = join(FOLDER, 'none')
  t.match(faultsOf(t, `upstreams:\n${targetsWith(none, nonsense, none, none)}`), [
    /upstreams\[0\]\.tls: .*none no such file; tls\.ca names it; 2 more of the upstreams name this file$/,
    /upstreams\[1\]\.tls: .*nonsense holds no certificate in PEM form$/,
  ])
})

t.test('an invalid target is a fault, with its place', async t => {
  for (const target of ['http://127.0.0.1:99999', 'http://a b', 'http://[::1', 'unix:relative.sock']) {
    const faults = faultsOf(t, `upstreams: [{ name: a, match: /api, target: "${target}" }]\n`)
    t.equal(faults.length, 1, target)
    t.match(faults[0], /upstreams\[0\]\.target/)
  }
  const several = 'upstreams: [{ name: a, match: /api, targets: ["http://a:1", "http://a:70000"] }]\n'
  t.match(faultsOf(t, several), [/upstreams\[0\]\.targets\[1\]: must be http:\/\/host:port/])
})

t.test('sizes are written with their unit', async t => {
  const limitOf = (size: string) => `upstreams: [{ name: a, match: /api, target: "http://a:1", body_limit: ${size} }]\n`
  for (const [size, bytes] of [
    ['1B', 1],
    ['64KiB', 65_536],
    ['10MiB', 10_485_760],
    ['2GiB', 2_147_483_648],
  ] as const) {
    t.equal(settingsOf(t, limitOf(size)).upstreams[0]!.body_limit, bytes)
  }
  for (const size of ['0B', '10', '10MB', '1.5MiB', '-1B', 'off']) t.equal(faultsOf(t, limitOf(size)).length, 1, size)
})
