import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ownMethods, ownRoutes } from '../../src/settings/own-routes.ts'
import { PROFILES } from '../../src/settings/profile.ts'
import { run, shippedFolder } from '../support/command-line.ts'
import { openFixture } from '../support/gateway-fixture.ts'

const UPSTREAMS = `upstreams:
  - { name: orders, match: /api/v1/c/orders, targets: ["http://10.0.0.5:3000", "http://10.0.0.6:3000"], rewrite: /o }
  - { name: public, match: /api/v1/public, target: "http://10.0.0.7:80", host: preserve, pass_authorization: on }
  - { name: shared, match: /api/v1/c/shared, targets: [{ url: "http://a:1", weight: 0 }, { url: "http://b:1", weight: 3 }], balance: { hash: login-id },
      request_headers: { set: { X-Env: prod }, remove: [X-Debug] }, response_headers: { set: { X-New: n }, remove: [Server] } }
  - { name: out, match: /api/v1/c/out, target: "http://a:1", maintenance: { retry_after: 90s, allow: ["10.0.0.0/8"] } }
  - { name: many, match: /api/v1/c/many, target: "http://many:80", resolve: 30s, rate_limit: { requests: 100, burst: 20 } }
  - { name: told, match: /api/v1/public/c/told, target: "http://a:1", identity: { optional: on } }
  - { name: site, match: /site, target: "http://a:1", identity: { headers: { X-User: username, X-Roles: roles }, assertion: {} } }
  - { name: long, match: /api/v1/c/long, target: "http://10.0.0.9:80", rewrite: /${'b'.repeat(100)} }
  - { name: whole, match: /api/v1/c/whole, target: "http://10.0.0.8:80", pass_authorization: bare }
`

const EXCEPTIONS = `gate:
  exceptions:
    - { path: /api/v1/sys/dict/tree, needs: none }
    - { path: /api/v1/c/orders/*, methods: [POST], needs: either }
  pages:
    - { path: /site/logo.png, methods: [GET], needs: none }
    - { path: /site/*, needs: business }
`

const ACCESS = `access:
  - { path: /api/v1/near/*, allow: [10.0.0.0/8], deny: [10.0.0.9] }
  - { path: /api/v1/far, deny: ["2001:db8::/32"] }
`

const BROWSER = 'browser: { business: on }\n'

const EXPLANATIONS: [words: string[], lines: RegExp[], absent?: RegExp][] = [
  [
    ['get', '/api/v1/c/orders/7?x=1'],
    [
      /^path +\/api\/v1\/c\/orders\/7$/m,
      /^query +\?x=1$/m,
      /^rule +4 of profile 1$/m,
      /^needs +a live C-side session \(CONSUMER\)$/m,
      /^answered by +upstream orders \(\/api\/v1\/c\/orders\)$/m,
      /^sent to +http:\/\/10\.0\.0\.5:3000 or http:\/\/10\.0\.0\.6:3000$/m,
      /^as +GET \/o\/7\?x=1$/m,
      /^headers +host: 10\.0\.0\.5:3000$/m,
      /^ +x-login-id: <user id>$/m,
      /^ +x-login-type: CONSUMER$/m,
    ],
    /authorization/i,
  ],
  [
    ['POST', '/site/a?x=1'],
    [
      /^rule +7 of profile 1$/m,
      /^page +gate\.pages\[1\] \/site\/\*$/m,
      /^sign-in +\/sign-in\/b\/ for people without a session; programs get 401$/m,
      /^needs +a live B-side session/m,
      /^answered by +upstream site \(\/site\)$/m,
      /^as +POST \/site\/a\?x=1$/m,
      /^ +X-User: <username>$/m,
      /^ +X-Roles: <roles>$/m,
      /^ +X-Login-Assertion: <JWT signed with ES256>$/m,
    ],
  ],
  [
    ['GET', '/site/logo.png'],
    [/^page +gate\.pages\[0\] \/site\/logo\.png \(GET, HEAD\)$/m, /^needs +no session$/m],
    /x-login/i,
  ],
  [
    ['GET', '/sites'],
    [/^rule +no rule applies$/m, /^refused +NOT_FOUND$/m],
  ],
  [
    ['GET', '/api/v1/public/c/x'],
    [
      /^rule +3 /m,
      /^needs +no session$/m,
      /^headers +host: <host of the gateway>$/m,
      /^ +Authorization: Bearer <token>$/m,
    ],
    /x-login/,
  ],
  [
    ['GET', '/api/v1/c/whole'],
    [/^answered by +upstream whole /m, /^ +authorization: <token>$/m, /^ +x-login-id: <user id>$/m],
    /Bearer/,
  ],
  [
    ['GET', '/api/v1/c/shared'],
    [
      /^sent to +http:\/\/a:1 \(weight 0\) or http:\/\/b:1 \(weight 3\)$/m,
      /^balance +by login-id; requests without one in turn$/m,
      /^response +set X-New, remove Server$/m,
      /^ +X-Env: <as set in upstreams\.yaml>$/m,
      /^headers +host: b:1$/m,
    ],
  ],
  [['GET', '/api/v1/c/out'], [/^refused +MAINTENANCE: 503, Retry-After 90, except from 10\.0\.0\.0\/8$/m]],
  [
    ['GET', '/api/v1/c/many'],
    [
      /^resolve +each address of a name is a target; names are looked up every 30 s$/m,
      /^limit +100 requests in 1 s per login-id, 20 at once/m,
    ],
  ],
  [['GET', '/api/v1/public/c/told'], [/^identity +x-login-id and x-login-type, if the request has a live session/m]],
  [['POST', '/api/v1/public/b/login'], [/^answered by +the gateway itself$/m]],
  [
    ['GET', '/.well-known/dualgate/jwks.json'],
    [/^rule +1 /m, /^answered by +the gateway itself$/m],
  ],
  [['HEAD', '/api/v1/public/b/captcha'], [/^answered by +the gateway itself$/m]],
  [
    ['PUT', '/api/v1/public/b/login'],
    [/^refused +METHOD_NOT_ALLOWED: the gateway serves this path itself, with POST, OPTIONS$/m],
    /upstream/,
  ],
  [
    ['GET', '/api/v1/sys/x'],
    [/^rule +6 /m, /B-side session \(BUSINESS\)/, /^refused +NOT_FOUND: no upstream matches$/m],
  ],
  [
    ['GET', '/docsx'],
    [/^rule +no rule applies$/m, /^refused +NOT_FOUND$/m],
  ],
  [
    ['GET', '/api/v1/sys/dict/tree'],
    [
      /^rule +6 of profile 1$/m,
      /^exception +gate\.exceptions\[0\] \/api\/v1\/sys\/dict\/tree \(GET, HEAD\)$/m,
      /^needs +no session$/m,
    ],
    /x-login/,
  ],
  [
    ['POST', '/api/v1/c/orders/7'],
    [
      /^rule +4 of profile 1$/m,
      /^exception +gate\.exceptions\[1\] \/api\/v1\/c\/orders\/\* \(POST\)$/m,
      /^needs +a live session of either side \(BUSINESS or CONSUMER\)$/m,
      /^ +x-login-type: <BUSINESS or CONSUMER>$/m,
    ],
  ],
  [['POST', '/api/v1/sys/dict/tree'], [/^rule +6 /m, /B-side session/], /exception/],
  [
    ['GET', '/api/v1/NEAR'],
    [/^access +access\[0\] \/api\/v1\/near\/\*: only 10\.0\.0\.0\/8 except 10\.0\.0\.9$/m, /NOT_FOUND/],
    /ADDRESS_NOT_ALLOWED/,
  ],
  [['GET', '/api/v1/near/x', '--address', '10.0.0.9'], [/^refused +ADDRESS_NOT_ALLOWED: 10\.0\.0\.9$/m], /NOT_FOUND/],
  [['GET', '/api/v1/near/x', '--address', '10.0.0.8'], [/NOT_FOUND/], /ADDRESS_NOT_ALLOWED/],
  [['GET', '/api/v1/far'], [/^access +access\[1\] \/api\/v1\/far: every client address except 2001:db8::\/32$/m]],
  [['GET', 'api/v1/c/orders'], [/^refused +BAD_PATH: no slash at the beginning$/m], /upstream/],
  [['GET', '/api/v1/c/../sys'], [/^refused +BAD_PATH: a dot segment$/m], /upstream/],
  [['GET', `/${'a'.repeat(3000)}`], [/^refused +URI_TOO_LONG/m]],
  [
    ['GET', `/api/v1/c/long/${'a'.repeat(2000)}`],
    [
      /^rule +4 /m,
      /^answered by +upstream long /m,
      /^refused +URI_TOO_LONG: the path is too long, after its rewrite$/m,
    ],
  ],
  [
    ['GET', '/api/v1/public/c/Told'],
    [
      /^refused +NOT_FOUND: a backend could read it as a path with a longer match; if it is another one, name it as a match$/m,
    ],
    /answered by/,
  ],
  [['TRACE', '/api/v1/c/orders/7'], [/^refused +METHOD_NOT_ALLOWED: only GET, HEAD, .*, OPTIONS are served$/m], /rule/],
  [['FOO', '/docs'], [/^refused +METHOD_NOT_ALLOWED/m], /answered by/],
]

for (const [words, lines, absent] of EXPLANATIONS) {
  t.test(`explain ${words.join(' ').slice(0, 40)}`, async t => {
    const folder = shippedFolder(t)
    writeFileSync(join(folder, 'config/upstreams.yaml'), UPSTREAMS)
    writeFileSync(join(folder, 'config/gateway.yaml'), EXCEPTIONS + ACCESS + BROWSER)
    const { code, output, errors } = await run(folder, ['explain', ...words], {
      environment: { NODE_ENV: 'production' },
    })
    t.equal(code, 0, errors)
    for (const line of lines) t.match(output, line)
    if (absent !== undefined) t.notMatch(output, absent)
    t.same(readdirSync(folder), ['config'], 'nothing is created')
  })
}

t.test('with cors on, the gateway answers OPTIONS itself', async t => {
  const folder = shippedFolder(t)
  writeFileSync(join(folder, 'config/upstreams.yaml'), UPSTREAMS)
  writeFileSync(join(folder, 'config/gateway.yaml'), `cors: { origin: ["https://shop.example"] }\n${ACCESS}`)
  for (const [method, expected] of [
    ['OPTIONS', /^answered by +the gateway itself: cors is on$/m],
    ['GET', /^answered by +upstream orders/m],
  ] as const) {
    const { output } = await run(folder, ['explain', method, '/api/v1/c/orders/7'])
    t.match(output, expected)
  }
  const { output } = await run(folder, ['explain', 'OPTIONS', '/api/v1/near/x', '--address', '10.0.0.9'])
  t.match(output, /^answered by +the gateway itself: cors is on$/m, 'before addresses are compared')
})

t.test('the paths of the gateway’s own pages have the methods that explain names', async t => {
  const client = { client_id: 'c', client_secret: 's', account: 'claims', label: 'Company account' }
  const provider = { name: 'staff', side: 'business', issuer: 'https://sso.example', ...client }
  const url = 'https://admin.example.com'
  const fixture = await openFixture(t, {
    config: { login: { providers: [provider] }, browser: { url, business: true, consumer: true } },
  })
  const routes = ownRoutes(fixture.settings, PROFILES[1])
  const paths = new Set([...routes].map(route => route.slice(route.indexOf(' ') + 1)))
  t.ok(paths.has('/sign-in/b/staff/logout') && paths.has('/sign-in/b/step'))
  for (const path of paths) {
    const { allow } = (await fixture.call({ method: 'OPTIONS', path })).headers
    t.same(allow?.split(', ').sort(), ownMethods(routes, path).sort(), path)
  }
})

t.test('the gateway serves the routes that explain reports as its own', async t => {
  for (const profile of [1, 2] as const) {
    const consumer = { kind: 'file', path: 'consumers.yaml' }
    const fixture = await openFixture(t, {
      profile,
      config: { api_versions: [1, 2], login: { consumer }, own_sessions: { consumer: true } },
    })
    const routes = ownRoutes(fixture.settings, PROFILES[profile])
    const own = [...routes].filter(route => route.includes(' /api/'))
    t.equal(own.filter(route => !route.startsWith('HEAD ')).length, 2 * (profile === 1 ? 34 + 19 + 16 + 8 + 2 : 34 + 5))
    for (const route of routes) {
      if (own.includes(route)) continue
      const [method = '', path = ''] = route.split(' ')
      const { status } = await fixture.call({ method, path })
      t.ok(status === 200 || status === 302, route)
    }
    for (const route of own) {
      const [method = '', path = ''] = route.split(' ')
      const side = /^\/api\/v\d\/c\//.test(path) ? 'consumer' : 'business'
      const login = await fixture.operate(side, 'login', { user_id: 'u1' })
      const answer = await fixture.call({
        method,
        path,
        token: login.data.token,
        ...(method === 'POST' && { body: {} }),
      })
      t.not(answer.status, 404, route)
      if (method === 'HEAD') continue
      if (answer.headers['content-type']?.startsWith('text/csv') === true) {
        t.ok(path.endsWith('/sys/journal/export'), route)
        continue
      }
      if (path.endsWith('/token'))
        t.match(answer.json(), { error: 'invalid_request' }, `${route} answers as its RFC says`)
      else t.equal(typeof answer.json().trace_id, 'string', `${route} is answered in our envelope`)
      t.not(answer.json().code, 404, route)
    }
    t.same(fixture.upstream.requests, [], 'and none of them was forwarded')
  }
})
