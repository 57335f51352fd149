import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfiguration } from '../../src/settings/load.ts'
import type { Settings } from '../../src/settings/schema/settings.ts'
import { BESIDE, faultsOf, folderWith, GOOD_KEY, settingsOf } from './folder.ts'

const OVERLAYS: [variables: Record<string, string>, read: (settings: Settings) => unknown, value: unknown][] = [
  [{ PROFILE: '2' }, s => s.profile, 2],
  [{ LOCALE: 'zh-CN' }, s => s.locale, 'zh-CN'],
  [{ TIMEZONE: 'Asia/Shanghai' }, s => s.timezone, 'Asia/Shanghai'],
  [{ LISTEN__PORT: '9090' }, s => s.listen.port, 9090],
  [{ LISTEN__HOST: '::' }, s => s.listen.host, '::'],
  [{ STORE__KIND: 'redis', STORE__REDIS__URL: 'redis://:a@b:1/2' }, s => s.store.redis?.url, 'redis://:a@b:1/2'],
  [
    { STORE__KIND: 'redis', STORE__REDIS__SENTINELS: '[{host: a, port: 1}]', STORE__REDIS__NAME: '123' },
    s => [s.store.redis?.sentinels, s.store.redis?.name],
    [[{ host: 'a', port: 1 }], '123'],
  ],
  [{ STORE__TIMEOUT: '250ms' }, s => s.store.timeout, 250],
  [{ LOGIN__RATE_LIMIT__LOGIN: '20' }, s => s.login.rate_limit, { captcha: 7, login: 20, window: 60_000 }],
  [{ LOGIN__RATE_LIMIT: 'off' }, s => s.login.rate_limit, 'off'],
  [{ LOGIN__LOGOUT_ROUTES: 'off' }, s => s.login.logout_routes, false],
  [{ LOG__ACCESS: 'false' }, s => s.log.access, false],
  [
    { JWT__SECRET_KEY: '83046159270381640597218304615972038' },
    s => s.jwt.secret_key,
    '83046159270381640597218304615972038',
  ],
  [{ JWT__SECRET_KEY: `[${GOOD_KEY}` }, s => s.jwt.secret_key, `[${GOOD_KEY}`],
  [{ JWT__EXPIRE_SECONDS: '60', JWT__ALGORITHM: 'HS384' }, s => [s.jwt.expire_seconds, s.jwt.algorithm], [60, 'HS384']],
  [{ JWT__TOKEN_NAME: 'X-Token' }, s => s.jwt.token_name, 'X-Token'],
  [{ INTERNAL__SECRET: `${GOOD_KEY}: #x` }, s => s.internal.secret, `${GOOD_KEY}: #x`],
  [{ API_VERSIONS: '1,2' }, s => s.api_versions, [1, 2]],
  [{ API_VERSIONS: '[3]' }, s => s.api_versions, [3]],
  [{ TRUSTED_PROXIES: '10.0.0.0/8, ::1' }, s => s.trusted_proxies, ['10.0.0.0/8', '::1']],
  [
    { CORS__ORIGIN: 'https://a.example,https://b.example' },
    s => s.cors,
    { origin: ['https://a.example', 'https://b.example'], credentials: false },
  ],
  [
    { CORS: '{origin: [https://a.example], credentials: on, maxAge: 60}' },
    s => s.cors,
    { origin: ['https://a.example'], credentials: true, maxAge: 60 },
  ],
  [{ CORS__ORIGIN: 'https://a.example', CORS__MAXAGE: '5' }, s => (s.cors === 'off' ? null : s.cors.maxAge), 5],
  [{ CORS: 'off' }, s => s.cors, 'off'],
  [{ UPSTREAMS: '[{name: a, match: /api, target: "builtin:echo"}]' }, s => s.upstreams.map(({ name }) => name), ['a']],
  [{ ACCOUNTS__PATH: '/x/y.yaml' }, s => s.accounts, { kind: 'file', path: '/x/y.yaml' }],
  [{ LISTEN__PORT: '' }, s => s.listen.port, 8080],
  [{ listen__port: '1' }, s => s.listen.port, 8080],
  [{ A__B: '1', PATH: '/bin', JAVA__LISTEN: '1' }, s => s.listen.port, 8080],
]

for (const [variables, read, value] of OVERLAYS) {
  const text = Object.entries(variables)
    .map(([name, text]) => `${name}=${text}`)
    .join(' ')
  t.test(`the environment sets ${text}`, async t => {
    t.same(read(settingsOf(t, 'login: { rate_limit: { captcha: 7 } }\n', variables)), value)
  })
}

const FAULTS: [variables: Record<string, string>, fault: RegExp][] = [
  [
    { LISTEN__PROT: '1' },
    /^environment LISTEN__PROT: unknown setting; did you mean LISTEN__PORT\? Settings here: LISTEN__HOST, LISTEN__PORT, /,
  ],
  [
    { LOGIN__RATE_LIMIT__LOGINS: '1' },
    /^environment LOGIN__RATE_LIMIT__LOGINS: unknown setting; did you mean LOGIN__RATE_LIMIT__LOGIN\? Settings here: /,
  ],
  [{ LOCALE__X: '1' }, /^environment LOCALE__X: unknown setting; locale is written as a whole, in LOCALE$/],
  [{ LISTEN__PORT: 'x' }, /^environment LISTEN__PORT: must be a whole number from 0 to 65535, not "x"$/],
  [{ STORE: 'redis' }, /^environment STORE: must be a section with kind, /],
  [{ CORS: '{origin' }, /^environment CORS: is not valid YAML; a list is written \[a, b\]/],
  [{ CORS: '{origin: [x]}' }, /^environment CORS cors\.origin\[0\]: must be an origin/],
  [{ TRUSTED_PROXIES: '1' }, /^environment TRUSTED_PROXIES trusted_proxies\[0\]: must be an address or a CIDR range/],
]

for (const [variables, fault] of FAULTS) {
  t.test(`a fault in the environment names the variable: ${Object.keys(variables)}`, async t => {
    const found = faultsOf(t, '', variables)
    t.equal(found.length, 1, found.join('\n'))
    t.match(found[0], fault)
  })
}

t.test('.env in the working directory is read, and the environment wins over it', async t => {
  const files = {
    '.env': 'LISTEN__PORT=1\nexport LOCALE="zh-CN"\n# LOG__LEVEL=fatal\nINTERNAL__PORT=5\nLISTEN__HOST=h\n',
  }
  const settings = settingsOf(t, 'listen: { port: 3 }\n', { INTERNAL__PORT: '6', LISTEN__HOST: '' }, files)
  t.match(settings, { listen: { port: 1, host: 'h' }, locale: 'zh-CN', internal: { port: 6 }, log: { level: 'info' } })
})

t.test('a fault in .env has its place there', async t => {
  t.match(faultsOf(t, '', {}, { '.env': 'LISTEN__PORT=x\n' }), [/^\.env LISTEN__PORT: must be/])
})

t.test('a byte order mark in .env is no part of its first variable', async t => {
  t.equal(settingsOf(t, '', {}, { '.env': '\uFEFFLISTEN__PORT=9\n' }).listen.port, 9)
})

t.test('a .env in another encoding than UTF-8 is a fault', async t => {
  const text = 'LISTEN__PORT=9\n'
  const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': '' })
  for (const bytes of [
    Buffer.from(`\uFEFF${text}`, 'utf16le'),
    Buffer.from(text, 'utf16le'),
    Buffer.from(`\uFEFF${text}`, 'utf16le').swap16(),
    Buffer.from(`${text}LOG__FILE=caf\u00e9\n`, 'latin1'),
  ]) {
    writeFileSync(join(folder, '.env'), bytes)
    t.throws(() => readConfiguration('gateway.yaml', {}, folder), {
      message: `${join(folder, '.env')}: is not UTF-8 text; save it in this encoding`,
    })
  }
})

t.test('NODE_ENV may be set in .env too', async t => {
  const faults = faultsOf(t, '', {}, { '.env': `NODE_ENV=production\nJWT__SECRET_KEY=${GOOD_KEY}\n` })
  t.match(faults, [/LOGIN__SM2__PRIVATE_KEY/, /INTERNAL__SECRET/])
  t.equal(faults.length, 2)
})

/** The warnings about a text of `.env`. */
const warningsOf = (t: Test, text: string) =>
  readConfiguration('gateway.yaml', {}, folderWith(t, { ...BESIDE, 'gateway.yaml': '', '.env': text }), {
    secretsNeeded: false,
  })
    .warnings.filter(({ place }) => place.startsWith('.env'))
    .sort((a, b) => (a.place < b.place ? -1 : 1))

t.test(
  'a setting in .env whose parts have one underscore between them is a warning, unless the right name is set',
  async t => {
    const message = (name: string) => new RegExp(`is no setting: .* as in ${name}\\. It is ignored: `)
    const text = 'STORE_KIND=redis\nSTORE_REDIS__URL=x\nLOGIN_RATE_LIMIT_LOGIN=2\nSTORED_KIND=x\nLISTEN_PROT=1\n'
    t.match(warningsOf(t, text), [
      { place: '.env LOGIN_RATE_LIMIT_LOGIN', message: message('LOGIN__RATE_LIMIT__LOGIN') },
      { place: '.env STORE_KIND', message: message('STORE__KIND') },
      { place: '.env STORE_REDIS__URL', message: message('STORE__REDIS__URL') },
    ])
    t.strictSame(warningsOf(t, `JWT_SECRET_KEY=x\nJWT__SECRET_KEY=${GOOD_KEY}\n`), [])
  },
)

t.test(
  'a setting in .env whose first part is misspelled is a warning, and a name of another program is not',
  async t => {
    const message = (name: string) => new RegExp(`^unknown setting, similar to ${name}\\. It is ignored: `)
    t.match(warningsOf(t, 'TRUSTED_PROXY=10.0.0.1\nSTROE__KIND=redis\nlisten__port=1\nTIME_ZONE=UTC\n'), [
      { place: '.env STROE__KIND', message: message('STORE__KIND') },
      { place: '.env TIME_ZONE', message: message('TIMEZONE') },
      { place: '.env TRUSTED_PROXY', message: message('TRUSTED_PROXIES') },
      { place: '.env listen__port', message: message('LISTEN__PORT') },
    ])
    const others = [
      'DATE',
      'LOCAL',
      'SESSION',
      'ACCOUNT',
      'PASSWORD',
      'SERVER_PORT',
      'JAVA__HOME',
      'STORES__KINDS',
      'KEY',
    ]
    t.strictSame(warningsOf(t, others.map(name => `${name}=x\n`).join('')), [])
    t.strictSame(warningsOf(t, 'TRUSTED_PROXY=10.0.0.1\nTRUSTED_PROXIES=10.0.0.2\n'), [], 'the right one is set, too')
  },
)

t.test('a line of .env without = is a warning if it names a setting, and the next line counts', async t => {
  const secret = 'c2VjcmV0IHRoYXQgbXVzdCBub3QgYmUgc2hvd24'
  const lines = [
    'HOME /root',
    'A="x',
    'LOCALE',
    '" LOCALE',
    `JWT__SECRET_KEY: ${secret}`,
    'LISTEN__PORT=9',
    `INTERNAL__SECRET: "${secret}=="`,
    'export STROE__KIND redis',
    'PROFILE',
    'TIMEZONE=UTC',
    secret,
  ]
  const found = warningsOf(t, lines.join('\n'))
  t.match(
    found.map(({ place }) => place),
    ['.env, line 5', '.env, line 7', '.env, line 8', '.env, line 9'],
  )
  t.match(found[0]?.message, /^has no = behind JWT__SECRET_KEY. It is ignored: correct it/)
  t.notMatch(JSON.stringify(found), /c2Vj/)
  t.match(settingsOf(t, '', {}, { '.env': lines.join('\n') }), { listen: { port: 9 }, timezone: 'UTC' })
})

t.test('unknown keys are warnings in .env, which other programs may read, and faults in the environment', async t => {
  const files = { '.env': 'CORS__ALLOW_ORIGINS=["http://a.example"]\nLISTEN__PROT=1\nDB__URL=x\n' }
  const { warnings, settings } = readConfiguration(
    'gateway.yaml',
    {},
    folderWith(t, { ...files, 'gateway.yaml': 'upstreams: []' }),
  )
  t.equal(settings.cors, 'off')
  t.match(warnings, [
    { place: '.env CORS__ALLOW_ORIGINS', message: /unknown setting; .*ignored: correct it, or leave it/ },
    { place: '.env LISTEN__PROT', message: /did you mean LISTEN__PORT\?/ },
  ])
  t.match(faultsOf(t, '', { CORS__ALLOW_ORIGINS: '*' }, files), [/^environment CORS__ALLOW_ORIGINS: unknown setting/])
})
