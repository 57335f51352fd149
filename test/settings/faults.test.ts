import t from 'tap'
import { stringify } from 'yaml'
import { ConfigurationError } from '../../src/settings/load.ts'
import { SettingsSchema } from '../../src/settings/schema/settings.ts'
import { faultsOf } from './folder.ts'

/* Faults of the settings, as their author reads them. */

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
    /^gateway\.yaml:1 listen\.port: must be a whole number from 0 to 65535, not "80"; write it without quotes$/,
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
  [
    'a number in quotes that is too large',
    'listen: { port: "65536" }\n',
    /listen\.port: must be a whole number from 0 to 65535, not "65536"$/,
  ],
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
