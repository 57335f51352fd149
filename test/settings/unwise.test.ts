import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfiguration } from '../../src/settings/load.ts'
import { call } from '../support/client.ts'
import { run } from '../support/command-line.ts'
import { openFixture } from '../support/gateway-fixture.ts'
import { ROOT } from '../support/root.ts'
import { BESIDE, folderWith, GOOD_KEY, PRODUCTION, settingsOf } from './folder.ts'

const REDIS = (rest: string): string => `store: { kind: redis, redis: { url: "${rest}" } }`
const SOURCE = (url: string): string => `{ kind: sql, url: "${url}", query: "SELECT 1 FROM u WHERE n = :username" }`
const SQL = (url: string): string => `accounts: ${SOURCE(url)}`
const UPSTREAM = (rest: string): string => `upstreams: [{ name: a, match: /api, ${rest} }]`

/** A configuration, and the setting that is unwise in it. */
const UNWISE: readonly [setting: string, yaml: string, environment?: Record<string, string>][] = [
  ['trusted_proxies', '', PRODUCTION],
  ['trusted_proxies[1]', 'trusted_proxies: [10.0.0.0/8, 0.0.0.0/0]'],
  ['trusted_proxies[0]', 'trusted_proxies: ["::/0"]'],
  ['listen.min_rate', 'listen: { min_rate: off }'],
  ['listen.min_rate', 'listen: { min_rate: 64B }'],
  ['internal.host', 'internal: { host: 0.0.0.0 }'],
  ['jwt.expire_seconds', '', { JWT__EXPIRE_SECONDS: '40000000' }],
  ['store.redis.url', REDIS('redis://10.0.0.9:6379')],
  ['store.redis.url', REDIS('redis://:secret@redis.example.com:6379')],
  ['store.redis.url', 'store: { kind: embedded, redis: { url: "redis://:secret@10.0.0.9" } }'],
  ['store.redis.sentinels', 'store: { redis: { sentinels: [{ host: 10.0.0.1 }], name: m } }'],
  ['store.timeout', 'store: { timeout: 1m }'],
  ['session_cache.heartbeat', `${REDIS('redis://127.0.0.1')}\nsession_cache: { heartbeat: 1m }`],
  ['login.rate_limit', 'login: { rate_limit: off }'],
  ['login.lockout.failures', 'login: { lockout: { failures: 1000 } }'],
  ['login.lockout.address_failures', 'login: { lockout: { address_failures: 5000 } }'],
  ['passwords.min_length', 'passwords: { min_length: 7 }'],
  ['passwords.common', 'passwords: { common: allow }'],
  ['passwords.max_age', 'passwords: { max_age: 29d }'],
  [
    'login.second_factor.for',
    `login: { second_factor: { for: off } }\naccounts: { kind: http, url: "https://a.example/", update_url: "https://a.example/u", secret: ${GOOD_KEY} }`,
  ],
  ['login.second_factor.for[1]', 'login: { second_factor: { for: [SUPER_ADMIN, operater] } }'],
  ['login.second_factor.for[0]', '', { LOGIN__SECOND_FACTOR__FOR: '[operater]' }],
  ['login.lockout.disable', 'login: { lockout: { disable: 30s } }'],
  ['login.captcha.ttl', 'login: { captcha: { ttl: 2h } }'],
  ['sessions.max_tokens_per_user', 'sessions: { consumer: { max_tokens_per_user: 0 } }'],
  ['sessions.auto_renew', 'sessions: { auto_renew: 10m }'],
  ['sessions.tell_end', 'sessions: { tell_end: 31d }'],
  ['journal', 'journal: off'],
  ['journal.max_entries', 'journal: { max_entries: 9999 }'],
  ['journal.max_entries', `${REDIS('redis://127.0.0.1')}\njournal: { max_entries: 10000001 }`],
  ['gate.exceptions[0]', 'gate: { exceptions: [{ path: /api/v2/*, needs: none }] }'],
  ['gate.exceptions[0]', 'gate: { exceptions: [{ path: /api/v1/x, methods: [POST], needs: none }] }'],
  ['cors.origin[1]', 'cors: { origin: [https://a.example.com, http://a.example.com] }'],
  ['accounts.url', SQL('mysql://gateway:secret@db.example.com/shop')],
  ['accounts.url', SQL('postgres://gateway:secret@db.example.com/shop?sslmode=no-verify')],
  ['accounts.url', SQL('mysql://root:secret@127.0.0.1/shop')],
  ['accounts.url', SQL('mysql://gateway:secret@db.example.com/shop?sslmode=no-verify&sslrootcert=/nowhere')],
  ['login.consumer.url', `login: { consumer: ${SOURCE('mysql://gateway:secret@db.example.com/shop')} }`],
  ['login.consumer.url', `login: { consumer: ${SOURCE('postgres://postgres:secret@127.0.0.1/shop')} }`],
  [
    'login.consumer.update_url',
    `login: { consumer: { kind: http, url: "https://8.8.8.8/a", update_url: "http://8.8.8.8/b", secret: ${GOOD_KEY} } }`,
  ],
  ['accounts.url', `accounts: { kind: http, url: "http://8.8.8.8/by-name", secret: ${GOOD_KEY} }`],
  [
    'accounts.update_url',
    `accounts: { kind: http, url: "https://8.8.8.8/a", update_url: "http://8.8.8.8/b", secret: ${GOOD_KEY} }`,
  ],
  ['events.webhooks[0]', `events: { webhooks: [{ url: "http://audit.example.com/", secret: ${GOOD_KEY} }] }`],
  ['log.level', 'log: { level: error }'],
  ['upstreams[0].target', `${UPSTREAM('target: "builtin:echo"')}\ntrusted_proxies: [10.0.0.1]`, PRODUCTION],
  ['upstreams[0].pass_authorization', UPSTREAM('target: "http://127.0.0.1:1", pass_authorization: bare')],
  ['upstreams[0].ejection', UPSTREAM('targets: ["http://127.0.0.1:1", "http://127.0.0.1:2"], ejection: off')],
  [
    'upstreams[0].websocket.origins[0]',
    UPSTREAM('target: "http://127.0.0.1:1", websocket: { origins: [http://a.example.com] }'),
  ],
  ['upstreams[0]', UPSTREAM('target: "http://orders.example.com"')],
]

for (const [setting, yaml, environment = {}] of UNWISE) {
  t.test(`${setting} is named when it is unwise: ${yaml}`, async t => {
    const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': yaml })
    // The time limit of the store is that of the file.
    const { output, code } = await run(folder, ['check', '--config', 'gateway.yaml'], {
      environment: { STORE__TIMEOUT: '', ...environment },
    })
    t.equal(code, 0, 'it does not prevent a start')
    const lines = output.split('\n').filter(line => line.startsWith('  warning'))
    t.equal(lines.length, 1, lines.join())
    const { warnings } = settingsOf(t, yaml, environment)
    t.equal(warnings.length, 1)
    t.ok(warnings[0]!.startsWith(`${setting} `), warnings[0]!)
    t.ok(lines[0]!.endsWith(warnings[0]!.slice(setting.length + 1)), 'check and readyz say the same')
    t.notMatch(warnings[0], /secret@|example\.com|8\.8\.8\.8|10\.0\.0/, 'without values')
  })
}

const WISE: readonly [yaml: string, environment?: Record<string, string>][] = [
  [readFileSync(join(ROOT, 'config/gateway.yaml'), 'utf8')],
  ['trusted_proxies: [10.0.0.1]', PRODUCTION],
  ['listen: { host: 127.0.0.1 }', PRODUCTION],
  ['internal: { socket: internal.sock, host: 0.0.0.0 }'],
  [REDIS('redis://:secret@10.0.0.9:6379')],
  [REDIS('redis://redis:6379')],
  ['store: { kind: embedded, redis: { url: "redis://redis:6379" } }', { STORE__KIND: 'redis' }],
  ['session_cache: { heartbeat: 1m }'],
  ['journal: { keep: 1h, max_entries: 100000000 }'],
  ['sessions: { auto_renew: 10m, idle_timeout: 1h, tell_end: 30d }'],
  [
    'gate: { exceptions: [{ path: /api/v1/dict/tree, needs: none }, { path: /api/v1/file/*, methods: [POST], needs: either }] }',
  ],
  [SQL('mysql://gateway:secret@10.0.0.5/shop')],
  ['cors: { origin: [http://admin.internal, http://10.0.0.7] }'],
  [SQL('mysql://gateway:secret@db.example.com/shop?sslmode=require')],
  [UPSTREAM('targets: ["http://10.0.0.5:1", "https://orders.example.com", "unix:/run/a.sock"]')],
]

t.test('settings that keep every protection are not named', async t => {
  for (const [yaml, environment] of WISE) t.same(settingsOf(t, yaml, environment).warnings, [], yaml.slice(0, 90))
})

t.test('a role of the permissions file can be demanded to have a second factor', async t => {
  const files = { 'permissions.yaml': 'roles: { operator: [sys:session:page] }\n' }
  const warningsOf = (yaml: string) => settingsOf(t, yaml, {}, files).warnings
  t.same(warningsOf('login: { second_factor: { for: [SUPER_ADMIN, operator] } }'), [])
  const [warning = ''] = warningsOf('login: { second_factor: { for: [operator, operater] } }')
  t.match(warning, /^login\.second_factor\.for\[1\] is no role of the permissions file.*check its spelling$/)
})

t.test('secrets that other users of the machine can read are named', async t => {
  const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': '' })
  mkdirSync(join(folder, 'data'))
  const file = join(folder, 'data/jwt.secret')
  writeFileSync(file, GOOD_KEY, { mode: 0o600 })
  const warnings = () => readConfiguration('gateway.yaml', {}, folder).warnings.map(({ path }) => path.join('.'))
  t.same(warnings(), [])
  chmodSync(file, 0o644)
  t.same(warnings(), ['data'])
})

async function readyWarnings(t: Test, config: Record<string, unknown>, environment = {}): Promise<string[]> {
  // The time limit of the other tests is unwise itself.
  const fixture = await openFixture(t, { config, environment: { STORE__TIMEOUT: '10s', ...environment } })
  return (await call(fixture.internal, { path: '/readyz' })).json().warnings
}

t.test('/readyz names unwise settings without the secret of the internal listener', async t => {
  t.match(await readyWarnings(t, { login: { lockout: { failures: 1000 } } }), [
    /^login\.rate_limit is off/,
    /^login\.lockout\.failures /,
  ])
})

t.test('in production, a secret in the configuration file is named, and not one of the environment', async t => {
  const hex = '1f'.repeat(31) + 'a7'
  const yaml = `
trusted_proxies: [10.0.0.1]
internal: { secret: ${GOOD_KEY} }
login:
  sm2: { private_key: "${hex}" }
  second_factor: { key: "${'09af1b'.repeat(10)}c4d2" }
  consumer: { kind: http, url: "https://a.internal/", secret: ${GOOD_KEY} }
store: { kind: redis, redis: { url: "redis://:secret@10.0.0.9" } }
${SQL('mysql://gateway:secret@10.0.0.5/shop')}
`
  const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': yaml })
  const named = (environment: Record<string, string>) =>
    readConfiguration('gateway.yaml', { NODE_ENV: 'production', JWT__SECRET_KEY: GOOD_KEY, ...environment }, folder)
      .warnings.map(({ path, message }) => `${path.join('.')} ${/[A-Z_0-9]+$/.exec(message)}`)
      .sort()
  const all = [
    'accounts.url ACCOUNTS__URL',
    'internal.secret INTERNAL__SECRET',
    'login.consumer.secret LOGIN__CONSUMER__SECRET',
    'login.second_factor.key LOGIN__SECOND_FACTOR__KEY',
    'login.sm2.private_key LOGIN__SM2__PRIVATE_KEY',
    'store.redis.url STORE__REDIS__URL',
  ]
  t.same(named({}), all)
  t.same(named({ NODE_ENV: '' }), [])
  const byEnvironment = {
    ACCOUNTS__URL: 'mysql://gateway:secret@10.0.0.5/shop',
    LOGIN__CONSUMER: `{ kind: http, url: "https://a.internal/", secret: ${GOOD_KEY} }`,
    STORE__REDIS: '{ sentinels: [{ host: 10.0.0.1 }], name: m, password: secret }',
  }
  t.same(
    named(byEnvironment),
    all.filter(line => /^(internal|login\.(sm2|sec))/.test(line)),
  )
})

t.test('a Redis that the kind of the store leaves unused is named where it is written', async t => {
  const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': readFileSync(join(ROOT, 'config/gateway.yaml'), 'utf8') })
  const environment = { STORE__REDIS__URL: 'redis://redis:6379' }
  const { warnings } = readConfiguration('gateway.yaml', environment, folder)
  t.match(
    warnings.map(({ place, message }) => `${place} ${message}`),
    [/^environment STORE__REDIS__URL has no effect .* set store\.kind: redis \(STORE__KIND=redis\)/],
  )
})

t.test('/readyz does not say which secret can be guessed, and check does', async t => {
  const environment = {
    JWT__SECRET_KEY: 'backend-secret-key-change-in-production',
    JWT__ACCEPT_WEAK_SECRET: 'I will replace it after the move',
  }
  const warnings = await readyWarnings(t, {}, environment)
  t.match(warnings, [/rate_limit/, /^a secret is unsafe; `dualgate check` names it$/])
  t.notMatch(warnings.join(), /jwt/i)
  const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': '' })
  t.match(
    (await run(folder, ['check', '--config', 'gateway.yaml'], { environment })).output,
    /warning .*JWT__SECRET_KEY/,
  )
})

t.test('an empty variable of a secret is named, unless the secret is set elsewhere', async t => {
  const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': '', '.env': 'JWT__SECRET_KEY=\nLISTEN__PORT=\n' })
  const warnings = (environment = {}) =>
    readConfiguration('gateway.yaml', environment, folder).warnings.map(({ place, message }) => `${place} ${message}`)
  t.same(warnings(), ['.env JWT__SECRET_KEY is empty, so the secret is not set here; give it a value, or remove it'])
  t.same(warnings({ JWT__SECRET_KEY: GOOD_KEY }), [])
  t.match(warnings({ STORE__REDIS__PASSWORD: '', JWT__SECRET_KEY: GOOD_KEY }), [
    /^environment STORE__REDIS__PASSWORD is empty/,
  ])
  const { output } = await run(folder, ['check', '--config', 'gateway.yaml'])
  t.match(output, /^ {2}warning +\.env JWT__SECRET_KEY is empty/m)
})
