import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { loadSettings, readConfiguration } from '../../src/settings/load.ts'
import { faultOfSigningKey, generateSecret } from '../../src/settings/secrets.ts'
import { generateSm2PrivateKey } from '../../src/settings/sm2-key.ts'
import { BESIDE, faultsOf, folderWith, GOOD_KEY, PRODUCTION } from './folder.ts'

const secretsOf = ({ jwt, login, internal }: ReturnType<typeof loadSettings>): string[] => [
  jwt.secret_key,
  login.sm2.private_key,
  internal.secret,
]

t.test('absent secrets are generated once into the data folder, and a restart keeps them', async t => {
  const folder = folderWith(t, {})
  const first = secretsOf(loadSettings(undefined, {}, folder))
  t.same(secretsOf(loadSettings(undefined, {}, folder)), first)
  t.equal(new Set(first).size, 3)
  t.match(first[1], /^[0-9a-f]{64}$/)
  t.same(readdirSync(join(folder, 'data')).sort(), ['internal.secret', 'jwt.secret', 'sm2.key'])
})

t.test('only their owner can read generated secrets', async t => {
  const folder = folderWith(t, {})
  loadSettings(undefined, {}, folder)
  t.equal(statSync(join(folder, 'data')).mode & 0o777, 0o700)
  for (const file of ['internal.secret', 'jwt.secret', 'sm2.key']) {
    t.equal(statSync(join(folder, 'data', file)).mode & 0o777, 0o600, file)
  }
})

t.test('a configured secret is used, and none is generated for it', async t => {
  const folder = folderWith(t, {})
  const sm2 = generateSm2PrivateKey()
  const environment = { JWT__SECRET_KEY: GOOD_KEY, LOGIN__SM2__PRIVATE_KEY: sm2, INTERNAL__SECRET: 'kJ3vQ8zR2xW7bN5m' }
  const settings = loadSettings(undefined, { ...environment, NODE_ENV: 'production' }, folder)
  t.same(secretsOf(settings), [GOOD_KEY, sm2, 'kJ3vQ8zR2xW7bN5m'])
  t.throws(() => readdirSync(join(folder, 'data')), { code: 'ENOENT' })
})

t.test('processes that start together use the same secrets', async t => {
  const folder = folderWith(t, {})
  const module = new URL('../../src/settings/load.js', import.meta.url).href
  const script = `
    const { loadSettings } = await import(${JSON.stringify(module)})
    process.stdout.write('ready\\n')
    process.stdin.once('data', () => {
      const { jwt, login, internal } = loadSettings(undefined, {}, ${JSON.stringify(folder)})
      process.stdout.write(JSON.stringify([jwt.secret_key, login.sm2.private_key, internal.secret]))
      process.stdin.pause()
    })`
  const children = Array.from({ length: 4 }, () => {
    const args = ['--input-type=module', '-e', script]
    return spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  })
  const outputs = children.map(() => '')
  for (const [index, child] of children.entries()) {
    child.stdout.on('data', chunk => {
      outputs[index] += chunk
    })
  }
  await Promise.all(children.map(child => once(child.stdout, 'data')))
  for (const child of children) child.stdin.end('go\n')
  await Promise.all(children.map(child => once(child, 'close')))
  t.equal(new Set(outputs).size, 1)
  t.match(outputs[0], /^ready\n\["[\w-]{64}",/)
  t.same(readdirSync(join(folder, 'data')).length, 3, 'no drafts are left')
})

t.test('production refuses to start without secrets, and names the command that generates each', async t => {
  const faults = faultsOf(t, '', { NODE_ENV: 'production' })
  t.match(faults, [
    /^environment JWT__SECRET_KEY: is not set, .*`dualgate keys jwt`/,
    /^environment LOGIN__SM2__PRIVATE_KEY: is not set, .*`dualgate keys sm2`/,
    /^environment INTERNAL__SECRET: is not set, .*`dualgate keys jwt`/,
  ])
})

t.test('a damaged file of a generated secret is a fault, and is not replaced', async t => {
  const folder = folderWith(t, {})
  loadSettings(undefined, {}, folder)
  const file = join(folder, 'data/jwt.secret')
  writeFileSync(file, '')
  t.throws(() => loadSettings(undefined, {}, folder), {
    message: `${file}: does not hold a valid secret; restore the file, or remove it to have a new one generated; or set JWT__SECRET_KEY`,
  })
  t.equal(readFileSync(file, 'utf8'), '')
})

t.test('a data folder that cannot be created is a fault', async t => {
  const folder = folderWith(t, { data: 'a file' })
  t.throws(() => loadSettings(undefined, {}, folder), { name: 'ConfigurationError' })
})

const REFUSED: [key: string, fault: RegExp][] = [
  ['short', /shorter than 32 bytes/],
  ['q7Xw2Zr9Lk4Tn8Vb3Hd6Jf1Gs5Pm0Yc', /shorter than 32 bytes/],
  [`-----BEGIN PUBLIC KEY-----\n${GOOD_KEY}`, /PEM/],
  ['a'.repeat(40), /pattern/],
  ['abcdefgh'.repeat(4), /pattern/],
  ['Xq7-Rt2!'.repeat(5).slice(0, 37), /pattern/],
  ['changeme-changeme-changeme-changeme', /pattern/],
  ['CHANGE_ME_CHANGE_ME_CHANGE_ME_32', /well-known/],
  ['your-256-bit-secret-padded-to-be-long-enough', /well-known/],
  ['a-string-secret-at-least-256-bits-long', /published/],
  ['00112233001122330011223300112233', /pattern/],
  ['0123456789abcdefFEDCBA9876543210', /well-known/],
  ['hei-fastapi-jwt-secret-key-2026-please-change-in-production', /published/],
  ['hei-gin-jwt-secret-key-2026-please-change-in-production', /published/],
  ['HEI_FASTAPI_JWT_SECRET_KEY_2026_PLEASE_CHANGE_IN_PRODUCTION', /published/],
  ['09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7', /published/],
  ['another-service-jwt-secret-key-2027-please-change-in-production', /well-known/],
  ['AnotherServiceJwtSecretKey2027PleaseChangeInProduction', /well-known/],
  ['anotherservicejwtsecretkeypleasechangeinproduction', /well-known/],
  ['this is the secret of our company, tell it to no one', /well-known/],
]

for (const [key, fault] of REFUSED) {
  t.test(`a key that can be guessed is refused in both profiles: ${key.slice(0, 16)}…`, async t => {
    t.match(faultOfSigningKey(key), fault)
    t.match(faultsOf(t, '', { JWT__SECRET_KEY: key }), [fault])
    t.match(
      faultsOf(t, `profile: 2\njwt: { secret_key: ${JSON.stringify(key)} }\n`),
      [fault],
      'in the file of profile 2',
    )
  })
}

t.test('a key from `openssl rand` is accepted', async t => {
  t.equal(faultOfSigningKey('9f86d081884c7d659a2feaa0c55ad015'), null)
  t.equal(faultOfSigningKey('n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg='), null)
  for (let i = 0; i < 200; i++) t.equal(faultOfSigningKey(generateSecret()), null)
})

t.test('an internal secret that is published or a sentence is refused', async t => {
  for (const secret of ['asdasdasifhueuiwyurfewbfjsdafjk', 'the secret of our company'])
    t.match(faultsOf(t, '', { INTERNAL__SECRET: secret }), [
      /^environment INTERNAL__SECRET: is a .*`dualgate keys jwt`/,
    ])
})

t.test('an internal secret that clients cannot send as it is in a header is refused', async t => {
  for (const secret of [
    `${generateSecret()}é`,
    `密${generateSecret()}`,
    ` ${generateSecret()}`,
    `${generateSecret()}\n`,
  ])
    t.match(faultsOf(t, `internal: { secret: ${JSON.stringify(secret)} }`), [
      /outside of ASCII, or spaces at its ends.*`dualgate keys jwt`/,
    ])
  t.same(faultsOf(t, `internal: { secret: ${JSON.stringify(`${generateSecret()} ${generateSecret()}`)} }`), [])
})

t.test('an SM2 private key outside the range of the curve is refused', async t => {
  t.match(faultsOf(t, `login: { sm2: { private_key: "${'0'.repeat(64)}" } }`), [/outside the range/])
  t.match(faultsOf(t, `login: { sm2: { private_key: "${'f'.repeat(64)}" } }`), [/outside the range/])
})

t.test('a key of second factors that can be guessed is refused', async t => {
  for (const key of ['0'.repeat(64), 'aB'.repeat(32), '01234567'.repeat(8)]) {
    t.match(faultsOf(t, `login: { second_factor: { key: "${key}" } }`), [
      /pattern that can be guessed.*openssl rand -hex 32/,
    ])
  }
  t.match(faultsOf(t, 'login: { second_factor: { key: short-but-secret } }'), [/must be 64 hex digits/])
  t.same(faultsOf(t, `login: { second_factor: { key: "${generateSm2PrivateKey()}" } }`), [])
})

const WORDS_BESIDE_ENOUGH = [
  'acme-secretkey-9f86d081884c7d659a2feaa0c55ad015',
  'my-secret-key-q7Xw2Zr9Lk4Tn8Vb3Hd6Jf1Gs5Pm',
  'supersecret/n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1s',
]
for (const key of WORDS_BESIDE_ENOUGH) {
  t.test(`a key with a common word in it is accepted if the rest is long enough: ${key.slice(0, 16)}…`, async t => {
    t.equal(faultOfSigningKey(key), null)
  })
}

const WEAK = 'backend-secret-key-change-in-production'
const ACCEPTED = 'I will replace it after the move'

t.test('an operator can accept a weak secret explicitly, and every start warns', async t => {
  t.match(faultsOf(t, '', { JWT__SECRET_KEY: WEAK }), [/common words.*see jwt\.accept_weak_secret/])
  const folder = folderWith(t, {})
  const warnings: { place: string; message: string }[] = []
  const load = () =>
    loadSettings(undefined, { JWT__SECRET_KEY: WEAK, JWT__ACCEPT_WEAK_SECRET: ACCEPTED }, folder, read => {
      warnings.push(...read.warnings)
    })
  for (let start = 1; start <= 2; start++) {
    t.equal(load().jwt.secret_key, WEAK)
    t.equal(warnings.length, start)
  }
  t.match(warnings[0], { place: 'environment JWT__SECRET_KEY', message: /an attacker who guesses it can make tokens/ })
  t.notMatch(JSON.stringify(warnings), WEAK)
})

t.test('a secret that is too short, in PEM form, or accepted with another text stays refused', async t => {
  const insist = { JWT__ACCEPT_WEAK_SECRET: ACCEPTED }
  t.match(faultsOf(t, '', { ...insist, JWT__SECRET_KEY: 'short' }), [/shorter than 32 bytes/])
  t.match(faultsOf(t, '', { ...insist, JWT__SECRET_KEY: `-----BEGIN PUBLIC KEY-----\n${GOOD_KEY}` }), [/PEM/])
  t.match(faultsOf(t, '', { JWT__ACCEPT_WEAK_SECRET: 'yes', JWT__SECRET_KEY: WEAK }), [/ACCEPT_WEAK_SECRET: must be/])
})

t.test('in production every secret in the file is a warning that names its variable', t => {
  const bind = { dn: 'CN=dualgate,DC=example,DC=com', password: 'of the directory' }
  const directory = {
    kind: 'ldap',
    preset: 'openldap',
    url: 'ldaps://dc1.example.com',
    bind,
    base: 'DC=example,DC=com',
  }
  const written = {
    accounts: directory,
    login: {
      consumer: { ...directory, base: 'DC=shop,DC=example,DC=org' },
      second_factor: { key: generateSm2PrivateKey() },
    },
    store: { kind: 'redis', redis: { url: 'redis://:of-the-store@127.0.0.1' } },
    events: { webhooks: [{ url: 'https://hooks.example.com/', secret: 'of the webhook, of 32 characters' }] },
  }
  const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': stringify(written, { aliasDuplicateObjects: false }) })
  const { warnings } = readConfiguration('gateway.yaml', PRODUCTION, folder)
  const named = warnings.flatMap(({ message }) => /is a secret in a file .* set it as (\S+)$/.exec(message)?.[1] ?? [])
  t.same(named.sort(), [
    'ACCOUNTS__BIND__PASSWORD',
    'EVENTS__WEBHOOKS__0__SECRET',
    'LOGIN__CONSUMER__BIND__PASSWORD',
    'LOGIN__SECOND_FACTOR__KEY',
    'STORE__REDIS__URL',
  ])
  t.end()
})
