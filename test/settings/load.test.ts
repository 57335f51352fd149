import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { stringify } from 'yaml'
import { ConfigurationError, loadSettings } from '../../src/settings/load.ts'
import { SettingsSchema } from '../../src/settings/schema/settings.ts'
import { BESIDE, faultsOf, folderWith, GOOD_KEY, settingsOf } from './folder.ts'

t.test('an empty file means the defaults of the schema', async t => {
  const folder = folderWith(t, { ...BESIDE, 'empty.yaml': '' })
  // Ajv fills in what the schema says, independently of the gateway. Profile 1 has no jwt section in its file.
  const { jwt, ...defaults } = withDefaults({}) as Record<string, unknown>
  writeFileSync(join(folder, 'whole.yaml'), stringify(defaults))
  const settings = loadSettings('empty.yaml', {}, folder)
  t.same(settings, loadSettings('whole.yaml', {}, folder))
  t.same({ ...settings.jwt, secret_key: undefined }, { ...(jwt as object), secret_key: undefined })
  t.same([settings.upstreams, settings.permissions], [[], { roles: {}, source: 'record', remember: 5000 }])
  t.match(settings, {
    listen: { port: 8080, timeouts: { headers: 10_000 }, min_rate: 1024 },
    store: { kind: 'embedded', timeout: 1000 },
    console: true,
    cors: 'off',
    accounts: { kind: 'file', path: /\/accounts\.yaml$/ },
    data: /\/data$/,
  })
})

function withDefaults(value: object): object {
  new Ajv2020({ strict: false, useDefaults: true }).compile(SettingsSchema)(value)
  return value
}

t.test('an empty section and a section whose keys are all commented out mean the defaults', async t => {
  const settings = settingsOf(t, 'listen:\n  #port: 1\nlogin: {}\nstore: ~\njwt:\n')
  t.equal(settings.listen.port, 8080)
  t.equal(settings.store.timeout, 1000)
})

t.test('durations arrive as milliseconds and switches as booleans', async t => {
  const settings = settingsOf(
    t,
    'store: { timeout: 2h }\nlog: { access: off }\nlogin: { logout_routes: false, rate_limit: off }',
  )
  t.equal(settings.store.timeout, 7_200_000)
  t.equal(settings.log.access, false)
  t.equal(settings.login.logout_routes, false)
  t.equal(settings.login.rate_limit, 'off')
})

t.test('a time zone is a name of today, an older one, or in other letters', async t => {
  for (const timezone of ['UTC', 'utc', 'GMT', 'Asia/Shanghai', 'europe/berlin', 'US/Pacific', 'Asia/Calcutta'])
    t.equal(settingsOf(t, `timezone: ${timezone}\n`).timezone, timezone)
})

t.test('paths are relative to the file that holds them, data to the working directory', async t => {
  const folder = folderWith(t, {})
  mkdirSync(join(folder, 'etc'))
  writeFileSync(
    join(folder, 'etc/gateway.yaml'),
    'internal: { socket: run.sock }\naccounts: { kind: file, path: a/b.yaml }\ndata: state\n',
  )
  writeFileSync(join(folder, 'etc/upstreams.yaml'), 'upstreams: [{ name: a, match: /api, target: "builtin:echo" }]')
  const settings = loadSettings('etc/gateway.yaml', {}, folder)
  t.equal(settings.internal.socket, join(folder, 'etc/run.sock'))
  t.match(settings.accounts, { path: join(folder, 'etc/a/b.yaml') })
  t.equal(settings.data, join(folder, 'state'))
  t.equal(settings.upstreams[0]?.name, 'a')
  const overlaid = loadSettings(
    'etc/gateway.yaml',
    { INTERNAL__SOCKET: 'x.sock', ACCOUNTS__PATH: 'c.yaml', DATA: 'd' },
    folder,
  )
  t.equal(overlaid.internal.socket, join(folder, 'x.sock'))
  t.match(overlaid.accounts, { kind: 'file', path: join(folder, 'c.yaml') })
  t.equal(overlaid.data, join(folder, 'd'))
})

t.test('the list of upstreams may be in the file itself', async t => {
  const { upstreams } = settingsOf(
    t,
    'upstreams:\n  - { name: a, match: /api/v1, targets: ["http://127.0.0.1:1"], timeouts: { idle: 5m } }\n',
  )
  t.match(upstreams, [{ name: 'a', host: 'target', timeouts: { connect: 5000, response: 30_000, idle: 300_000 } }])
})

t.test('without a file everything comes from the environment', async t => {
  const folder = folderWith(t, {})
  t.same(loadSettings(undefined, {}, folder).upstreams, [])
  t.equal(loadSettings(undefined, { LISTEN__PORT: '1' }, folder).listen.port, 1)
})

const EACH_FAULT: [title: string, yaml: string, ...faults: RegExp[]][] = [
  [
    'an unknown key',
    'listen:\n  prot: 1\n',
    /^gateway\.yaml:2 listen\.prot: unknown setting; did you mean port\? Settings here: host, port, /,
  ],
  ['an unknown key unlike any', 'zzz: 1\n', /^gateway\.yaml:1 zzz: unknown setting; settings here: profile, listen, /],
  ['__proto__ as a key', 'log: { __proto__: { level: silent } }\n', /^gateway\.yaml:1 log\.__proto__: unknown setting/],
  [
    'a number written as text',
    'listen: { port: "80" }\n',
    /^gateway\.yaml:1 listen\.port: must be a whole number from 0 to 65535, not "80"$/,
  ],
  ['a port out of range', 'listen:\n\n  port: 70000\n', /^gateway\.yaml:3 listen\.port: must be .*, not 70000$/],
  [
    'a text that is a number',
    'listen: { host: 10 }\n',
    /listen\.host: must be a text that is not empty; .* needs quotes/,
  ],
  ['a section that is a text', 'listen: 8080\n', /^gateway\.yaml:1 listen: must be a section with host, port/],
  ['a section with sections that is a text', 'login: on\n', /^gateway\.yaml:1 login: must be a section with /],
  ['the internal section as a text', 'internal: on\n', /^gateway\.yaml:1 internal: must be a section with /],
  ['a text that is a section', 'locale: { a: 1 }\n', /locale: must be en or zh-CN, not a section$/],
  ['a list that is a text', 'api_versions: 1\n', /api_versions: must be a list$/],
  ['a text that is a list', 'timezone: [UTC]\n', /timezone: must be .*, not a list$/],
  [
    'an entry of a list',
    'api_versions: [1, two]\n',
    /^gateway\.yaml:1 api_versions\[1\]: must be a whole number .*, not "two"$/,
  ],
  ['an empty list', 'api_versions: []\n', /api_versions: must have at least 1 entry$/],
  ['a duration without a unit', 'store: { timeout: 5 }\n', /store\.timeout: must be a duration such as 500ms/],
  [
    'a duration that no timer can measure',
    'store: { timeout: 577h }\n',
    /store\.timeout: must be a duration such as 500ms, 30s, 5m or 2h, 24d at most, not "577h"$/,
  ],
  ['a word of a choice', 'store: { kind: redsi }\n', /store\.kind: must be embedded or redis, not "redsi"$/],
  ['a switch', 'log: { access: maybe }\n', /log\.access: must be on or off, not "maybe"$/],
  ['a profile', 'profile: 3\n', /profile: must be 1 or 2, not 3$/],
  [
    'a union, by a text',
    'cors: true\n',
    /^gateway\.yaml:1 cors: must be off, or a section with origin, credentials, .*, not true$/,
  ],
  [
    'a union, by a key inside',
    'cors: { origin: ["*"] }\n',
    /^gateway\.yaml:1 cors\.origin\[0\]: must be an origin such as https:\/\/admin\.example, not "\*"$/,
  ],
  [
    'a version that is listed twice',
    'api_versions: [1, 2, 1]\n',
    /^gateway\.yaml:1 api_versions\[2\]: is there twice; remove one$/,
  ],
  [
    'a socket whose path is too long',
    `internal: { socket: /${'s'.repeat(107)} }\n`,
    /^gateway\.yaml:1 internal\.socket: leads to a path of 108 bytes, and a socket can have 10[37]; choose a shorter one$/,
  ],
  [
    'names of headers that no message can have',
    'cors: { origin: ["https://a.example"], allowedHeaders: [X-A], exposedHeaders: [X-A, "X B", "X-Ü"] }\n',
    /cors\.exposedHeaders\[1\]: must be the name of a header such as X-Request-Id, not "X B"$/,
    /cors\.exposedHeaders\[2\]: must be the name of a header such as X-Request-Id, not "X-Ü"$/,
  ],
  [
    'a union, by a key that is missing',
    'cors: { credentials: on }\n',
    /^gateway\.yaml:1 cors\.origin: is missing; it must be a list$/,
  ],
  [
    'a union of sections, by its kind',
    'accounts: { kind: nis }\n',
    /accounts\.kind: must be file, sql, http or ldap, not "nis"$/,
  ],
  [
    'a time zone that does not exist',
    'timezone: Mars/Olympus\n',
    /timezone: is not a time zone; use a name of the IANA list/,
  ],
  [
    'a count of proxies',
    'trusted_proxies: [1]\n',
    /trusted_proxies\[0\]: must be an address or a CIDR range such as 10\.0\.0\.0\/8/,
  ],
  [
    'a range of proxies',
    'trusted_proxies:\n  - 10.0.0.0/33\n',
    /^gateway\.yaml:2 trusted_proxies\[0\]: must be an address or a CIDR range/,
  ],
  ['one port for both listeners', 'internal: { port: 8080 }\n', /internal\.port: is also the public port/],
  [
    'redis without an address',
    'store: { kind: redis }\n',
    /store\.redis: must say where Redis is; set store\.redis\.url \(STORE__REDIS__URL\)/,
  ],
  [
    'redis with two addresses',
    'store: { kind: redis, redis: { url: "redis://a", cluster: [{ host: b }] } }\n',
    /store\.redis: has url and cluster; keep one/,
  ],
  [
    'sentinels without a name',
    'store: { kind: redis, redis: { sentinels: [{ host: a, port: 1 }] } }\n',
    /store\.redis\.sentinels: need store\.redis\.name/,
  ],
  [
    'a name without sentinels',
    'store: { kind: redis, redis: { url: "redis://a", name: m } }\n',
    /store\.redis\.name: is the name of a master/,
  ],
  [
    'a password beside a URL',
    'store: { kind: redis, redis: { url: "redis://a", password: hunter2 } }\n',
    /store\.redis\.password: has no effect beside url/,
  ],
  [
    'waiting for replicas in a Cluster',
    'store: { kind: redis, redis: { cluster: [{ host: a }], wait: { replicas: 1 } } }\n',
    /store\.redis\.wait: works with one server and with Sentinel only/,
  ],
  [
    'waiting for replicas as long as for the store',
    'store: { kind: redis, redis: { url: "redis://a", wait: { timeout: 1s } } }\n',
    /store\.redis\.wait\.timeout: must be shorter than store\.timeout/,
  ],
  [
    'both sides with one accounts file',
    'login: { consumer: { kind: file, path: accounts.yaml } }\n',
    /login\.consumer\.path: is the file of the B-side accounts/,
  ],
  [
    'an account administration without accounts in a file',
    'accounts: { kind: http, url: "http://127.0.0.1:1/a", secret: "0123456789abcdef" }\naccount_administration: on\n',
    /account_administration: has no effect: these accounts come from http and are managed there; remove it/,
  ],
  [
    'an upstreams file that is not there',
    'upstreams: u.yaml\n',
    /^gateway\.yaml:1 upstreams: no such file: u\.yaml; create it/,
  ],
  [
    'a jwt section in profile 1',
    'locale: en\njwt: { algorithm: HS256 }\n',
    /^gateway\.yaml:2 jwt: Profile 1 takes the JWT settings from the environment: set JWT__SECRET_KEY/,
  ],
  [
    'a key that is written twice',
    'locale: en\nlocale: en\n',
    /^gateway\.yaml:2: the key locale is written twice, first in line 1; /,
  ],
  [
    'a key that is written twice, within lists',
    'upstreams:\n  - name: a\n    match: /api\n    target: http://a\n    match: /api/v1\n',
    /^gateway\.yaml:5: the key match is written twice, first in line 3; join both, or remove one$/,
  ],
  [
    'a number without its unit',
    'sessions: { idle_timeout: 30 }\n',
    /idle_timeout: must be .*duration.*; a number needs its unit, as in 30s$/,
  ],
  ['a bracket that is not closed', 'api_versions: [1,\nlocale: en\n', /^gateway\.yaml:\d: /],
  ['a tab', 'listen:\n\tport: 1\n', /^gateway\.yaml:2: a tab as indentation/],
  ['a second document', 'locale: en\n---\nlocale: en\n', /^gateway\.yaml:2: a second document/],
  ['an alias', 'locale: *en\n', /^gateway\.yaml:1 locale: an alias; a value that begins with \* needs quotes/],
  ['a tag', 'locale: !en en\n', /^gateway\.yaml:1: a tag/],
]

for (const [title, yaml, ...faults] of EACH_FAULT) {
  t.test(`a fault is reported with place, cause and remedy: ${title}`, async t => {
    const found = faultsOf(t, yaml)
    t.equal(found.length, faults.length, found.join('\n'))
    for (const [index, fault] of faults.entries()) t.match(found[index], fault)
  })
}

const UPSTREAM_FAULTS: [title: string, entries: string, fault: RegExp][] = [
  [
    'a name that occurs twice',
    '- { name: a, match: /api/a, target: "builtin:echo" }\n- { name: a, match: /api/b, target: "builtin:echo" }',
    /^upstreams\.yaml:3 upstreams\[1\]\.name: is also that of upstream 1/,
  ],
  [
    'a match that occurs twice',
    '- { name: a, match: /api, target: "builtin:echo" }\n- { name: b, match: /api, target: "builtin:echo" }',
    /upstreams\[1\]\.match: is also that of upstream 1/,
  ],
  ['no target', '- { name: a, match: /api }', /^upstreams\.yaml:2 upstreams\[0\]: needs either target or targets$/],
  [
    'both targets',
    '- { name: a, match: /api, target: "builtin:echo", targets: ["http://a"] }',
    /upstreams\[0\]: needs either target or targets$/,
  ],
  [
    'WebSockets without a target',
    '- { name: a, match: /api, target: "builtin:echo", websocket: {} }',
    /upstreams\[0\]\.websocket: has no effect, because builtin:echo opens no WebSocket/,
  ],
  [
    'WebSockets that are switched on like a switch',
    '- { name: a, match: /api, target: "http://a", websocket: on }',
    /upstreams\[0\]\.websocket: must be off, or \{ origins: .* \{\} is on with the defaults/,
  ],
  [
    'a match at a page of the gateway',
    '- { name: a, match: /docs, target: "builtin:echo" }',
    /upstreams\[0\]\.match: lies in \/docs\/\*, which the gateway keeps for itself/,
  ],
  [
    'a match that no request can have',
    '- { name: a, match: /api/../x, target: "builtin:echo" }',
    /upstreams\[0\]\.match: is not a valid path/,
  ],
  [
    'a match that is a pattern',
    '- { name: a, match: /api/v1/*, target: "builtin:echo" }',
    /upstreams\[0\]\.match: must have letters, digits and - \. _ ~ only: .*; end it before the segment/,
  ],
  ...[..."!$&'()*+,=:@"].map((character): [string, string, RegExp] => [
    `a match that requests can write in two ways, with ${character}`,
    `- { name: a, match: "/api/v1/c/a${character}b", target: "builtin:echo" }`,
    /upstreams\[0\]\.match: .* other characters have several spellings, and only one of them would be matched/,
  ]),
  [
    'a rewrite that is a pattern',
    '- { name: a, match: /api/v1, rewrite: /orders/*, target: "builtin:echo" }',
    /upstreams\[0\]\.rewrite: is not a pattern/,
  ],
  [
    'a target with a password',
    '- { name: a, match: /api, target: "http://u:hunter2@h" }',
    /upstreams\[0\]\.target: must be http:\/\/host:port, https:\/\/host:port, unix:\/path\/of\.sock or builtin:echo$/,
  ],
  [
    'an unknown key',
    '- name: a\n  match: /api\n  traget: x\n  target: "builtin:echo"',
    /^upstreams\.yaml:4 upstreams\[0\]\.traget: unknown setting; did you mean target\?/,
  ],
  ['a text', '- http://127.0.0.1', /upstreams\[0\]: must be a section with name, match/],
  [
    'three keys for one signature',
    `- { name: a, match: /api, target: "http://a", identity: { signature: [${'"kJ3vQ8zR2xW7bN5m", '.repeat(3)}] } }`,
    /upstreams\[0\]\.identity\.signature: must have at most 2 entries/,
  ],
]

for (const [title, entries, fault] of UPSTREAM_FAULTS) {
  t.test(`a fault in the upstreams file has its place there: ${title}`, async t => {
    const file = `upstreams:\n${entries.replace(/^/gm, '  ')}\n`
    const found = faultsOf(t, '', {}, { 'upstreams.yaml': file })
    t.equal(found.length, 1, found.join('\n'))
    t.match(found[0], fault)
  })
}

t.test('a file with a list or a text instead of keys is a fault that names the file', async t => {
  for (const text of ['- { name: a, match: /api, target: "builtin:echo" }', '[]', 'upstreams', '5']) {
    for (const name of ['gateway.yaml', 'upstreams.yaml', 'permissions.yaml']) {
      const files = { [name]: text }
      t.same(
        faultsOf(t, files['gateway.yaml'] ?? '', {}, files),
        [`${name}: must consist of keys and their values; a list stands below its key`],
        `${name} with ${text}`,
      )
    }
  }
})

t.test('all faults are reported together, those of other files and of the environment too', async t => {
  const found = faultsOf(
    t,
    'locale: fr\nlisten: { port: x }\ntimezone: Nowhere\n',
    { LOG__LEVEL: 'loud', LOG__LEVLE: 'info', NODE_ENV: 'production' },
    { 'upstreams.yaml': 'upstreams: [{ name: a }]', 'permissions.yaml': 'roles: { a: x }' },
  )
  for (const part of [
    'locale',
    'listen.port',
    'timezone',
    'environment LOG__LEVEL:',
    'environment LOG__LEVLE',
    'upstreams[0].match',
    'roles.a',
    'JWT__SECRET_KEY',
  ]) {
    t.ok(
      found.some(fault => fault.includes(part)),
      part,
    )
  }
})

/** Each list has an unknown key in its first entry and a fault of another kind in another; some entries have both. */
const ENTRIES = `
  - { name: a, match: /api/v1/a, target: "http://a", prio: 1, rewrite: /x//y }
  - { name: a, match: /api/v1/b, target: nonsense }
  - name: c
    match: /api/v1/c
    targets: [{ url: "http://a", wight: 1 }, { url: nonsense }]
    maintenance: { allow: [10.0.0.1, nonsense], until: x }
  - { name: d, match: 7, target: "http://a", tls: { cert: a.pem } }
`
const ENTRY_FAULTS = [
  'upstreams[0].prio: unknown',
  'upstreams[0].rewrite: is not a valid path',
  'upstreams[1].name: is also that of upstream 1',
  'upstreams[1].target: must be http',
  'upstreams[2].targets[0].wight: unknown',
  'upstreams[2].targets[1].url: must be http',
  'upstreams[2].maintenance.until: unknown',
  'upstreams[2].maintenance.allow[1]: must be an address',
  'upstreams[3].match: must be',
  'upstreams[3].tls: has no effect',
]

t.test('an unknown key or a faulty entry hides no fault of the others in its list', async t => {
  const yaml = `
trusted_proxies: [[], nonsense]
gate:
  exceptions:
    - { path: /api/v1/a, needs: none, why: x }
    - { path: no-path, needs: none }
    - { path: /api/v1/b, needs: nothing }
    - { path: /api/v1/a, needs: either }
access:
  - { path: /console, allow: [10.0.0.1], why: x }
  - { path: /console, deny: [nonsense] }
  - { path: 7, deny: [] }
permissions: { path: permissions.yaml, paths: x }
login: { captcha: { lenght: 4 } }
`
  const wanted = [
    'trusted_proxies[0]: must be',
    'trusted_proxies[1]: must be an address',
    'gate.exceptions[0].why: unknown',
    'gate.exceptions[1].path: must be a path',
    'gate.exceptions[2].needs: must be',
    'gate.exceptions[3]: is never reached with GET, because exception 1',
    'access[0].why: unknown',
    'access[1]: is never reached, because rule 1',
    'access[1].deny[0]: must be an address',
    'access[2].path: must be',
    'permissions.paths: unknown',
    'roles.a: must be',
    'roles.SUPER_ADMIN: always has',
    'login.captcha.lenght: unknown',
    ...ENTRY_FAULTS,
  ]
  const files = { 'permissions.yaml': 'roles: { a: 7, SUPER_ADMIN: [] }\n' }
  const list = `upstreams:${ENTRIES}`
  for (const found of [
    faultsOf(t, yaml + list, {}, files),
    faultsOf(t, yaml, {}, { ...files, 'upstreams.yaml': list }),
  ]) {
    for (const fault of wanted)
      t.ok(
        found.some(text => text.includes(fault)),
        `${fault}\n${found.join('\n')}`,
      )
  }
})

t.test('a setting of another type is a fault, whatever else is written, and never a crash', async t => {
  const others = {
    gate: { exceptions: [{ path: '/api/v1/x', needs: 'none' }] },
    access: [{ path: '/console', deny: ['10.0.0.1'] }],
    login: { second_factor: { for: 'all' }, consumer: { kind: 'file' } },
    account_administration: true,
  }
  for (const key of Object.keys(SettingsSchema.properties)) {
    for (const value of [{ '?': 1 }, [[]]]) {
      const [first] = faultsOf(t, stringify({ ...others, [key]: value }))
      t.match(first, new RegExp(`^gateway\\.yaml:\\d+ ${key}\\b`))
    }
  }
})

t.test('a missing file is a fault', async t => {
  t.throws(() => loadSettings('nope.yaml', {}, folderWith(t, {})), { message: /^nope\.yaml: no such file/ })
})

t.test('profile 2 reads the jwt section, and the environment overrides it', async t => {
  const yaml = 'profile: 2\njwt: { expire_seconds: 60, algorithm: HS512 }\n'
  t.match(settingsOf(t, yaml).jwt, { expire_seconds: 60, algorithm: 'HS512', token_name: 'Authorization' })
  t.match(settingsOf(t, yaml, { JWT__EXPIRE_SECONDS: '90' }).jwt, { expire_seconds: 90, algorithm: 'HS512' })
})

t.test('the header of the token is one that has no other meaning', async t => {
  for (const name of [
    'Cookie',
    'host',
    'Transfer-Encoding',
    'X-Login-Id',
    'X-Forwarded-For',
    'Content-Type',
    'X_Login_Id',
  ])
    t.match(
      faultsOf(t, `profile: 2\njwt: { token_name: ${name} }\n`),
      [/^gateway\.yaml:2 jwt\.token_name: cannot carry/],
      name,
    )
  for (const name of ['authorization', 'X-Token', 'satoken'])
    t.equal(settingsOf(t, `profile: 2\njwt: { token_name: ${name} }\n`).jwt.token_name, name)
})

const SECRET = 'hunter2hunter2'
const LEAKS: Record<string, string> = {
  'jwt secret': `profile: 2\njwt: { secret_key: ${SECRET} }\n`,
  'jwt secret as a list': `profile: 2\njwt: { secret_key: [${SECRET}] }\n`,
  'sm2 key': `login: { sm2: { private_key: ${SECRET} } }\n`,
  'internal secret': `internal: { secret: ${SECRET.slice(0, 12)} }\n`,
  'redis url': `store: { kind: redis, redis: { url: "http://u:${SECRET}@h" } }\n`,
  'redis url in the wrong place': `store: "redis://u:${SECRET}@h"\n`,
  'broken yaml': `internal: { secret: "${SECRET}\n`,
  alias: `internal:\n  secret: *${SECRET}\n`,
  tag: `internal:\n  secret: !${SECRET}\n`,
  'reserved character': `internal:\n  secret: @${SECRET}\n`,
  'two colons': `internal:\n  secret: ${SECRET}: x\n`,
}

for (const [title, yaml] of Object.entries(LEAKS)) {
  t.test(`no fault shows a secret: ${title}`, async t => {
    const found = faultsOf(t, yaml)
    t.not(found.length, 0)
    t.notMatch(found.join('\n'), /hunter2/)
  })
}

t.test('no fault shows a secret from the environment', async t => {
  const environment = {
    INTERNAL__SECRET: 'hunter2',
    STORE__REDIS__URL: 'hunter2',
    STORE: '{hunter2: [',
  }
  const found = faultsOf(t, '', environment)
  t.not(found.length, 0)
  t.notMatch(found.join('\n'), /hunter2/)
})

t.test('a key that is written twice hides no other fault of its file', async t => {
  const found = faultsOf(t, 'timezone: Nowhere\ntimezone: Nowhere\nlisten: { port: x }\n')
  for (const part of [/the key timezone is written twice/, /listen\.port/])
    t.ok(
      found.some(fault => part.test(fault)),
      String(part),
    )
})

t.test('the text of the error is every fault on a line of its own', async t => {
  const error = new ConfigurationError([
    { place: 'a:1', message: 'x' },
    { place: 'b:2', message: 'y' },
  ])
  t.equal(error.message, 'a:1: x\nb:2: y')
})

t.test('a variable can set where rights come from, and leaves the file of the roles as it is', async t => {
  const folder = folderWith(t, {
    'gateway.yaml': 'permissions: roles.yaml\nupstreams: []',
    'roles.yaml': 'roles: { operator: [a:b] }',
  })
  const { permissions } = loadSettings('gateway.yaml', { PERMISSIONS__SOURCE: 'accounts' }, folder)
  t.same(permissions, { roles: { operator: ['a:b'] }, source: 'accounts', remember: 5000 })
})

t.test('the sides share no accounts of a database or a backend, and may share a database', async t => {
  const query = 'SELECT id FROM a WHERE x = :username'
  const both = (source: object, others: object) =>
    faultsOf(t, JSON.stringify({ accounts: source, login: { consumer: { ...source, ...others } } }))
  const sql = { kind: 'sql', url: 'postgres://a:b@c/d', query }
  t.match(both(sql, {}), [/login\.consumer\.query: finds the B-side accounts/])
  t.same(both(sql, { query: query.replace('FROM a', 'FROM b') }), [])
  t.same(both(sql, { url: 'postgres://a:b@c/e' }), [])
  const http = { kind: 'http', url: 'http://127.0.0.1:1/a', secret: GOOD_KEY }
  t.match(both(http, {}), [/login\.consumer\.url: returns the B-side accounts/])
  t.same(both(http, { url: 'http://127.0.0.1:1/b' }), [])
})

t.test('a second factor cannot be required of accounts whose source stores none', async t => {
  const sql = "{ kind: sql, url: 'postgres://a:b@c/d', query: 'SELECT 1 WHERE x = :username' }"
  for (const value of ['all', '[admin]']) {
    t.match(faultsOf(t, `login: { second_factor: { for: ${value} } }\naccounts: ${sql}`), [
      /login\.second_factor\.for.*accounts on the business side, which are not stored; set update\.second_factor or update_url beside their source, or use optional/,
    ])
    t.match(faultsOf(t, `login: { second_factor: { for: ${value} }, consumer: ${sql} }`), [/on the consumer side/])
  }
  t.same(faultsOf(t, `login: { second_factor: { for: optional } }\naccounts: ${sql}`), [])
  t.same(faultsOf(t, 'login: { second_factor: { for: all } }'), [])
  t.match(faultsOf(t, 'login: { second_factor: { for: some, issuer: "a:b" } }'), [
    /for: must be off, optional, all, or a list of roles such as \[SUPER_ADMIN\]/,
    /issuer.*without colons/,
  ])
})

t.test('rights from accounts in SQL need a query of their own', async t => {
  const accounts = "{ kind: sql, url: 'postgres://a:b@c/d', query: 'SELECT 1 WHERE x = :username' }"
  const faults = faultsOf(t, `permissions: { source: accounts }\naccounts: ${accounts}`)
  t.match(faults, [/accounts\.rights_query.*is missing; permissions\.source: accounts needs it/])
})
