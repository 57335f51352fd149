import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import t from 'tap'
import { readConfiguration } from '../../src/settings/load.ts'
import { providersOf, signsInByPassword } from '../../src/settings/served.ts'
import { BESIDE, faultsOf, folderWith, GOOD_KEY, PRODUCTION, settingsOf } from './folder.ts'

/* OpenID providers in the configuration. */

type Section = Record<string, unknown>

const STAFF: Section = {
  name: 'staff',
  side: 'business',
  label: 'Company account',
  issuer: 'https://sso.example.com/realms/staff',
  client_id: 'dualgate',
  client_secret: 'secret of the client',
  account: 'claims',
}
const SHOP: Section = { ...STAFF, name: 'shop', side: 'consumer' }
const MATCH: Section = { account: 'match', match: { claim: 'preferred_username' } }
const BROWSER: Section = { business: 'on', url: 'https://admin.example.com' }
const CONSUMERS: Section = { consumer: { kind: 'file', path: 'consumers.yaml' } }

interface Parts {
  browser?: Section
  login?: Section
  rest?: Section
}

/** A configuration with these providers; JSON is YAML, too. */
const yamlOf = (providers: unknown[], { browser = {}, login = {}, rest = {} }: Parts = {}): string =>
  JSON.stringify({ browser: { ...BROWSER, ...browser }, login: { ...login, providers }, ...rest })

const provider = (changes: Section): string => yamlOf([{ ...STAFF, ...changes }])

const pemOf = ({ privateKey }: { privateKey: KeyObject }): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

t.test('as shipped there is no provider, and users sign in with passwords', async t => {
  const settings = settingsOf(t, '')
  t.match(settings.login, { providers: [], password: true })
  t.same(providersOf(settings, 'BUSINESS'), [])
  t.ok(signsInByPassword(settings, 'BUSINESS'))
  t.notOk(signsInByPassword(settings, 'CONSUMER'), 'whose login is served elsewhere')
})

t.test('what is written of a provider is taken, and the rest has its default', async t => {
  const [staff] = settingsOf(t, provider({ require: { email_domains: ['example.com'] } })).login.providers
  t.same(staff, {
    ...STAFF,
    client_auth: 'basic',
    scopes: ['openid', 'profile', 'email'],
    claims: { username: 'preferred_username', nickname: 'name' },
    require: { email_domains: ['example.com'] },
    second_factor: 'provider',
    session: 43_200_000,
    logout: 'user',
    algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
    clock_tolerance: 30_000,
    timeout: 5000,
  })
})

t.test('each side has its providers, in their order', async t => {
  const providers = [{ ...STAFF, name: 'b2' }, SHOP, { ...STAFF, name: 'b1' }]
  const settings = settingsOf(t, yamlOf(providers, { browser: { consumer: 'on' }, login: { password: 'off' } }))
  const namesOf = (type: 'BUSINESS' | 'CONSUMER') => providersOf(settings, type).map(({ name }) => name)
  t.same([namesOf('BUSINESS'), namesOf('CONSUMER')], [['b2', 'b1'], ['shop']])
  t.notOk(signsInByPassword(settings, 'BUSINESS'))
})

const FAULTS: [title: string, yaml: string, fault: RegExp, files?: Record<string, string>][] = [
  [
    'a name that another provider has',
    yamlOf([STAFF, { ...STAFF, issuer: 'https://other.example' }]),
    /login\.providers\[1\]\.name: is that of provider 1 in the list, too; give each its own$/,
  ],
  [
    'a name with capitals',
    provider({ name: 'Staff' }),
    /\[0\]\.name: must be a name of 1 to 32 characters of a-z 0-9 -/,
  ],
  ['a name with a colon', provider({ name: 'a:b' }), /\[0\]\.name: must be a name/],
  ['an algorithm with the secret', provider({ algorithms: ['HS256'] }), /\[0\]\.algorithms\[0\]: must be /],
  ['no signature', provider({ algorithms: ['none'] }), /\[0\]\.algorithms\[0\]: must be /],
  ['an issuer that is no URL', provider({ issuer: 'https://a b' }), /\[0\]\.issuer: must be a URL/],
  ['an issuer with an invalid port', provider({ issuer: 'https://a:99999' }), /\[0\]\.issuer: must be a URL such as/],
  ...['common', 'organizations', 'consumers', 'Common'].map((tenant): (typeof FAULTS)[number] => [
    `an issuer of Entra for ${tenant}`,
    provider({ issuer: `https://login.microsoftonline.com/${tenant}/v2.0` }),
    /\[0\]\.issuer: accepts the users of every organization; name your own: https:\/\/login\.microsoftonline\.com\/<tenant id>\/v2\.0$/,
  ]),
  [
    'neither a secret nor a key',
    provider({ client_secret: null }),
    /\[0\]\.client_secret: is missing; set it as LOGIN__PROVIDERS__0__CLIENT_SECRET, or set key$/,
  ],
  [
    'a secret and a key',
    provider({ key: 'client.pem' }),
    /\[0\]\.key: proves the client, and so does client_secret; keep one of them$/,
    { 'client.pem': pemOf(generateKeyPairSync('ed25519')) },
  ],
  [
    'a way to send a secret beside a key',
    provider({ client_secret: null, key: 'client.pem', client_auth: 'post' }),
    /\[0\]\.client_auth: has no effect beside key; remove it$/,
    { 'client.pem': pemOf(generateKeyPairSync('ed25519')) },
  ],
  [
    'a key that is missing',
    provider({ client_secret: null, key: 'client.pem' }),
    /\[0\]\.key: .*client\.pem no such file/,
  ],
  ['authorities that are missing', provider({ ca: 'ca.pem' }), /\[0\]\.ca: .*ca\.pem no such file/],
  ['match without the claim', provider({ account: 'match' }), /\[0\]\.match: is missing; account: match needs it/],
  ['match with account: claims', provider({ match: MATCH.match }), /\[0\]\.match: has no effect with account: claims/],
  [
    'match on a side without accounts',
    yamlOf([{ ...SHOP, ...MATCH }], { browser: { consumer: 'on' } }),
    /\[0\]\.account: is match, and the gateway has no accounts of consumers; set login\.consumer, or use claims$/,
  ],
  [
    'claims with account: match',
    provider({ ...MATCH, claims: { username: 'upn' } }),
    /\[0\]\.claims: has no effect with account: match/,
  ],
  [
    'roles of groups with account: match',
    provider({ ...MATCH, roles: { claim: 'groups', map: { a: 'b' } } }),
    /\[0\]\.roles\.map: has no effect with account: match/,
  ],
  [
    'the claim of groups that are not used, with account: match',
    provider({ ...MATCH, roles: { claim: 'groups' } }),
    /\[0\]\.roles: has no effect with account: match and without require\.groups/,
  ],
  [
    'the claim of groups that are not used, with account: claims',
    provider({ roles: { claim: 'groups' } }),
    /\[0\]\.roles: has no effect: map names no group/,
  ],
  [
    'claims without a username',
    provider({ claims: { nickname: 'name' } }),
    /\[0\]\.claims: needs username, and the claim/,
  ],
  ...[
    ...['id', 'status', 'roles', 'permissions', 'account_version', 'login_ip', 'provider', 'provider_session'],
    ...['session_seconds', 'session_latest_end', 'session_renewed_end'],
  ].map((name): (typeof FAULTS)[number] => [
    `a claim that goes into ${name}`,
    provider({ claims: { username: 'sub', [name]: 'x' } }),
    new RegExp(`\\[0\\]\\.claims\\.${name}: does not come from a claim; remove it$`),
  ]),
  [
    'a claim into a name with a dot',
    provider({ claims: { username: 'sub', 'a.b': 'x' } }),
    /must be a name of letters/,
  ],
  [
    'required groups without their claim',
    provider({ require: { groups: ['/staff'] } }),
    /\[0\]\.require\.groups: needs roles\.claim, the claim with the groups, such as roles: \{ claim: groups \}$/,
  ],
  ...['Example.com', '@example.com', 'example.com.', 'exämple.com', '*.example.com'].map(
    (domain): (typeof FAULTS)[number] => [
      `the required domain ${domain}`,
      provider({ require: { email_domains: ['example.org', domain] } }),
      /\[0\]\.require\.email_domains\[1\]: must be a domain in lower case, such as example\.com$/,
    ],
  ),
  [
    'a second factor of its own where none is demanded',
    yamlOf([{ ...STAFF, second_factor: 'own' }], { login: { second_factor: { for: 'off' } } }),
    /\[0\]\.second_factor: is own, but login\.second_factor\.for is off/,
  ],
  [
    'a second factor of its own on a side without a route for codes',
    yamlOf([{ ...SHOP, second_factor: 'own' }], {
      browser: { consumer: 'on' },
      login: { second_factor: { for: 'all' } },
    }),
    /\[0\]\.second_factor: is own, and the gateway has no accounts of consumers, and so no route for their codes/,
  ],
  [
    'accounts of claims where rights come from accounts',
    yamlOf([STAFF], { rest: { permissions: { source: 'accounts' } } }),
    /\[0\]\.account: is claims, whose users have no rights with permissions\.source: accounts/,
  ],
  [
    'no address of the gateway',
    yamlOf([STAFF], { browser: { url: null } }),
    /browser\.url: is missing; login\.providers needs/,
  ],
  [
    'an address of the gateway over HTTP with cookies for HTTPS',
    yamlOf([STAFF], { browser: { url: 'http://admin.example.com' } }),
    /browser\.url: begins with http:\/\/, where browsers send no cookie; use https:\/\/, or set browser\.secure: off$/,
  ],
  [
    'an address of the gateway that browsers write otherwise',
    yamlOf([STAFF], { browser: { url: 'https://Admin.example.com:443' } }),
    /browser\.url: must be written as browsers do: https:\/\/admin\.example\.com$/,
  ],
  [
    'an address of the gateway that is none',
    yamlOf([STAFF], { browser: { url: 'https://a:x' } }),
    /browser\.url: must be an origin such as/,
  ],
  [
    'cookies of another domain',
    yamlOf([STAFF], { browser: { domain: 'dmin.example.com' } }),
    /browser\.domain: does not cover the host of browser\.url/,
  ],
  [
    'a side without cookies',
    yamlOf([STAFF, SHOP], {}),
    /browser\.consumer: must be on: who signs in with provider shop has the session in a cookie/,
  ],
  [
    'no password and no provider',
    'login: { password: off }',
    /login\.password: is off, and no provider has side: business: no user of this side could sign in/,
  ],
  [
    'no password and no provider on one side',
    yamlOf([STAFF], { login: { password: 'off', ...CONSUMERS } }),
    /login\.password: is off, and no provider has side: consumer/,
  ],
  [
    'a sign-in page of consumers beside a provider',
    yamlOf([SHOP], { browser: { consumer: 'on', consumer_page: 'https://shop.example' } }),
    /browser\.consumer_page: is never used, because the gateway signs consumers in itself; remove it$/,
  ],
]

for (const [title, yaml, fault, files = {}] of FAULTS) {
  t.test(`${title} is a fault`, async t => {
    const faults = faultsOf(t, yaml, {}, { 'consumers.yaml': 'accounts: []\n', ...files })
    t.equal(faults.length, 1, faults.join('\n'))
    t.match(faults[0], fault)
  })
}

const SOUND: [title: string, yaml: string][] = [
  ['an account that is matched', provider(MATCH)],
  [
    'groups that a matched account must have',
    provider({ ...MATCH, roles: { claim: 'groups' }, require: { groups: ['a'] } }),
  ],
  ['required groups that give no role', provider({ roles: { claim: 'groups' }, require: { groups: ['a'] } })],
  ['one tenant of Entra', provider({ issuer: 'https://login.microsoftonline.com/8a6b0000-0000/v2.0' })],
  ['a realm with the name common', provider({ issuer: 'https://sso.example.com/common/v2.0' })],
  ['texts of a button by language', provider({ label: { en: 'Company account', 'zh-CN': '公司账号' } })],
  ['plain HTTP in an intranet', yamlOf([STAFF], { browser: { secure: 'off', url: 'http://gateway:8080' } })],
  ['cookies of a domain', yamlOf([STAFF], { browser: { domain: 'example.com' } })],
  ['consumers without accounts', yamlOf([SHOP], { browser: { consumer: 'on' } })],
  [
    'consumers without accounts, where rights come from accounts',
    yamlOf([SHOP], { browser: { consumer: 'on' }, rest: { permissions: { source: 'accounts' } } }),
  ],
  ['providers alone', yamlOf([STAFF], { login: { password: 'off' } })],
]

for (const [title, yaml] of SOUND) {
  t.test(`${title}: no fault`, async t => t.same(faultsOf(t, yaml), []))
}

t.test('a provider that is no section is one fault, and those beside it are checked', async t => {
  const faults = faultsOf(t, yamlOf(['x', { ...STAFF, client_secret: null }], { login: { password: 'off' } }))
  t.match(faults, [/login\.providers\[0\]: must be a section/, /login\.providers\[1\]\.client_secret: is missing/])
})

t.test('keys of clients are those that providers know', async t => {
  const faultsWith = (pem: string) =>
    faultsOf(t, provider({ client_secret: null, key: 'client.pem' }), {}, { 'client.pem': pem })
  const known = [
    generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ...['P-256', 'P-384', 'P-521'].map(namedCurve => generateKeyPairSync('ec', { namedCurve })),
    generateKeyPairSync('ed25519'),
  ]
  for (const pair of known) t.same(faultsWith(pemOf(pair)), [])
  const unknown = [
    generateKeyPairSync('rsa', { modulusLength: 1024 }),
    generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
    generateKeyPairSync('x25519'),
  ]
  for (const pair of unknown)
    t.match(faultsWith(pemOf(pair)), [/\[0\]\.key: .*is no key that providers know: RSA of 2048/])
  const publicKey = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString()
  for (const pem of ['', publicKey]) t.match(faultsWith(pem), [/\[0\]\.key: .*holds no private key in PEM form/])
})

t.test('the environment completes the providers that are written', async t => {
  const written = yamlOf([
    { ...STAFF, client_secret: null },
    { ...STAFF, name: 'partners' },
  ])
  const { providers } = settingsOf(t, written, {
    LOGIN__PROVIDERS__0__CLIENT_SECRET: '[not: yaml',
    LOGIN__PROVIDERS__1__SCOPES: 'openid, groups',
    LOGIN__PROVIDERS__1__REQUIRE__EMAIL_DOMAINS: 'example.com',
  }).login
  t.match(providers, [
    { name: 'staff', client_secret: '[not: yaml' },
    {
      name: 'partners',
      client_secret: 'secret of the client',
      scopes: ['openid', 'groups'],
      require: { email_domains: ['example.com'] },
    },
  ])
  const whole = JSON.stringify([{ ...STAFF, client_secret: 'x' }])
  const all = { LOGIN__PROVIDERS: whole, LOGIN__PROVIDERS__0__CLIENT_SECRET: 'y' }
  t.match(settingsOf(t, yamlOf([]), all).login.providers, [{ name: 'staff', client_secret: 'y' }], 'in any order')
})

t.test('a variable of a provider that is not written is a fault, and one in .env a warning', async t => {
  const remedy = 'a variable completes an entry that is written there: add it, or remove the variable'
  const faultsWith = (name: string, written = provider({})) => faultsOf(t, written, { [name]: 'x' })
  t.same(faultsWith('LOGIN__PROVIDERS__1__CLIENT_SECRET'), [
    `environment LOGIN__PROVIDERS__1__CLIENT_SECRET: login.providers has 1 entry, counted from 0; ${remedy}`,
  ])
  t.same(faultsWith('LOGIN__PROVIDERS__0__CLIENT_SECRET', ''), [
    `environment LOGIN__PROVIDERS__0__CLIENT_SECRET: no list is written in login.providers; ${remedy}`,
  ])
  const others: [name: string, fault: RegExp][] = [
    ['LOGIN__PROVIDERS__0__CLIENT_SECRTE', /unknown setting; did you mean LOGIN__PROVIDERS__0__CLIENT_SECRET\?/],
    [
      'LOGIN__PROVIDERS__CLIENT_SECRET',
      /unknown setting; login\.providers is a list: LOGIN__PROVIDERS__0__… is a setting of its first entry/,
    ],
    ['LOGIN__PROVIDERS__00__CLIENT_SECRET', /unknown setting; login\.providers is a list/],
    ['LOGIN__PROVIDERS__-1__CLIENT_SECRET', /unknown setting; login\.providers is a list/],
    [
      'LOGIN__PROVIDERS__0__SCOPES__0',
      /unknown setting; login\.providers\[0\]\.scopes is written as a whole, in LOGIN__PROVIDERS__0__SCOPES$/,
    ],
  ]
  for (const [name, fault] of others) t.match(faultsWith(name), [fault], name)
  const folder = folderWith(t, {
    ...BESIDE,
    'gateway.yaml': provider({}),
    '.env': 'LOGIN__PROVIDERS__1__CLIENT_SECRET=x\n',
  })
  t.match(readConfiguration('gateway.yaml', {}, folder).warnings, [
    { place: '.env LOGIN__PROVIDERS__1__CLIENT_SECRET', message: /has 1 entry, .*It is ignored/ },
  ])
})

t.test('the entries of other lists have variables, too', async t => {
  const webhook = { url: 'https://audit.example/x' }
  const { events } = settingsOf(t, JSON.stringify({ events: { webhooks: [webhook] } }), {
    EVENTS__WEBHOOKS__0__SECRET: GOOD_KEY,
  })
  t.match(events.webhooks, [{ ...webhook, secret: GOOD_KEY }])
})

t.test('a fault of a value in a variable names the variable', async t => {
  t.match(faultsOf(t, provider({}), { LOGIN__PROVIDERS__0__TIMEOUT: '5' }), [
    /^environment LOGIN__PROVIDERS__0__TIMEOUT: must be a duration/,
  ])
})

t.test('no fault shows the secret of a client', async t => {
  const secret = 'Zq8-secret-of-the-client'
  const faults = [
    ...faultsOf(t, provider({ client_secret: [secret] })),
    ...faultsOf(t, provider({ client_secret: { [secret]: 1 } })),
    ...faultsOf(t, provider({ client_secret: secret, account: 'x' })),
  ]
  t.equal(faults.length, 3)
  t.notMatch(faults.join('\n'), secret)
})

const WARNINGS: [title: string, yaml: string, warning: RegExp | null][] = [
  ['an issuer over HTTP', provider({ issuer: 'http://sso.corp' }), /^login\.providers\[0\] is reached over http:\/\//],
  ['an issuer over HTTP at this machine', provider({ issuer: 'http://127.0.0.1:8080/realms/x' }), null],
  [
    'a wide tolerance of clocks',
    provider({ clock_tolerance: '10m' }),
    /^login\.providers\[0\] accepts tokens that ended/,
  ],
]

for (const [title, yaml, warning] of WARNINGS) {
  t.test(`${title}: ${warning === null ? 'no warning' : 'a warning'}`, async t => {
    const { warnings } = settingsOf(t, yaml)
    t.equal(warnings.length, warning === null ? 0 : 1, warnings.join('\n'))
    if (warning !== null) t.match(warnings[0], warning)
  })
}

t.test('in production a secret in the file is a warning, and so is a variable of it that is empty', async t => {
  const warningsOf = (environment: Record<string, string>) => {
    const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': provider({}) })
    const { warnings } = readConfiguration('gateway.yaml', { ...PRODUCTION, ...environment }, folder)
    return warnings.map(({ place, message }) => `${place}: ${message}`).filter(text => /provider/i.test(text))
  }
  const inFile =
    /client_secret: is a secret in a file that is copied and shared; set it as LOGIN__PROVIDERS__0__CLIENT_SECRET$/
  t.match(warningsOf({}), [inFile])
  t.same(warningsOf({ LOGIN__PROVIDERS__0__CLIENT_SECRET: 'another' }), [])
  t.match(warningsOf({ LOGIN__PROVIDERS__0__CLIENT_SECRET: '' }), [
    inFile,
    /LOGIN__PROVIDERS__0__CLIENT_SECRET: is empty/,
  ])
})
