import t from 'tap'
import { faultsOf, settingsOf } from './folder.ts'

/* How the traffic to the targets of an upstream is configured, and what is refused at the start. */

const TWO = 'targets: ["http://a:1", "http://b:1"]'
const entryOf = (rest: string): string => `upstreams: [{ name: a, match: /api, ${rest} }]\n`

const ACCEPTED: [rest: string, settings: object][] = [
  [
    'targets: ["http://a:1", { url: "http://b:1", weight: 3 }, { url: "unix:/c.sock" }]',
    { targets: ['http://a:1', { url: 'http://b:1', weight: 3 }, { url: 'unix:/c.sock', weight: 1 }] },
  ],
  [`${TWO}, balance: { hash: login-id }`, { balance: { hash: 'login-id' } }],
  [`${TWO}, balance: { hash: "header:X-Tenant" }`, { balance: { hash: 'header:X-Tenant' } }],
  [`${TWO}, balance: least-pending`, { balance: 'least-pending' }],
  [
    `${TWO}, request_headers: { set: { X-Env: prod }, remove: [X-Debug] }, response_headers: { remove: [Server] }`,
    {
      request_headers: { set: { 'X-Env': 'prod' }, remove: ['X-Debug'] },
      response_headers: { set: {}, remove: ['Server'] },
    },
  ],
  [
    `${TWO}, request_headers: { set: { X-Script-Name: /wiki } }`,
    { request_headers: { set: { 'X-Script-Name': '/wiki' }, remove: [] } },
  ],
  [`${TWO}, maintenance: {}`, { maintenance: { retry_after: 600_000, allow: [] } }],
  [`${TWO}, maintenance: off`, { maintenance: 'off' }],
  ['target: "http://orders.internal:80", resolve: 30s', { resolve: 30_000 }],
  [`${TWO}, rate_limit: { requests: 9 }`, { rate_limit: { requests: 9, window: 1000, per: 'login-id' } }],
  [
    `${TWO}, rate_limit: { requests: 9, window: 2m, burst: 3, per: address }`,
    { rate_limit: { requests: 9, window: 120_000, burst: 3, per: 'address' } },
  ],
]

const FAULTY: [rest: string, fault: RegExp][] = [
  [
    'targets: [{ url: "http://a:70000" }]',
    /targets\[0\]\.url: must be http:\/\/host:port, .*, not "http:\/\/a:70000"$/,
  ],
  [
    `target: "unix:/${'s'.repeat(107)}"`,
    /target: leads to a path of 108 bytes, and a socket can have 10[37]; choose a sh/,
  ],
  [
    `targets: ["unix:/${'s'.repeat(102)}", { url: "unix:/${'ä'.repeat(54)}" }]`,
    /targets\[1\]\.url: leads to a path of 109 bytes, and a socket can have 10[37]; choose a shorter one$/,
  ],
  [`${TWO}, health: { path: /zustände }`, /health\.path: must be a path such as \/healthz, not "\/zustände"/],
  ['targets: ["http://a:1", { weight: 3 }]', /targets\[1\]\.url: is missing; it must be http:\/\/host:port/],
  ['targets: [{ url: "builtin:echo" }]', /targets\[0\]\.url: must be http:\/\/host:port/],
  ['targets: [{ url: "http://a:1", weight: 1001 }]', /weight: must be a whole number from 0 to 1000, not 1001/],
  ['targets: [{ url: "http://a:1", weight: 0.5 }]', /weight: must be a whole number from 0 to 1000/],
  ['targets: [7]', /targets\[0\]: must be http:\/\/host:port, .*, or \{ url: http:\/\/host:port, weight: 3 \};/],
  [
    'targets: [{ url: "http://a:1", weight: 0 }]',
    /upstreams\[0\]\.targets: all have weight 0, so that none gets requests; give one of them another weight$/,
  ],
  [`${TWO}, balance: random`, /balance: must be round-robin, least-pending or \{ hash: login-id \}, not "random"/],
  [`${TWO}, balance: { hash: cookie }`, /balance\.hash: must be login-id, address or header:<name>, not "cookie"/],
  [`${TWO}, balance: {}`, /balance\.hash: is missing; it must be login-id, address or header:<name>/],
  [
    `${TWO}, balance: { hash: "header:x_login_id" }`,
    /balance\.hash: names a header of the gateway, which clients must not send; write login-id/,
  ],
  [
    'targets: ["http://a:1", "http://a:1"], balance: { hash: address }',
    /targets\[1\]: is listed before, which has no effect with a hash; give that one a weight/,
  ],
  [
    `${TWO}, request_headers: { set: { "X Env": a } }`,
    /set\.X Env: is not the name of a header; write one such as X-Env/,
  ],
  [`${TWO}, request_headers: { set: { X-Env: "a\\r\\nb" } }`, /set\.X-Env: must be a text of ASCII characters, [^b]*$/],
  [`${TWO}, request_headers: { set: { X-Env: "" } }`, /set\.X-Env: must be a text of ASCII characters/],
  [
    `${TWO}, request_headers: { set: { X-Env: a }, remove: [x_env] }`,
    /remove\[0\]: is there twice, perhaps in another/,
  ],
  ...[
    'Cookie',
    'authorization',
    'X-Login-Id',
    'x_login_type',
    'X-Forwarded-For',
    'X-Script-Name',
    'Host',
    'Content-Length',
  ].map((name): [string, RegExp] => [
    `${TWO}, identity: { headers: { ${name}: username } }`,
    new RegExp(`identity\\.headers\\.${name}: cannot carry the identity`),
  ]),
  [`${TWO}, identity: { headers: { "X User": id } }`, /identity\.headers\.X User: is not the name of a header/],
  [
    `${TWO}, identity: { headers: { X-User: mail } }`,
    /identity\.headers\.X-User: must be .*id, username, nickname, roles/,
  ],
  [`${TWO}, identity: { headers: { X-User: id, x_user: username } }`, /headers\.x_user: is there twice, perhaps in/],
  [
    `${TWO}, identity: { headers: { X-User: id } }, request_headers: { remove: [x.user] }`,
    /identity\.headers\.X-User: is edited by request_headers, too; remove one/,
  ],
  [`${TWO}, request_headers: { sets: {} }`, /request_headers\.sets: unknown setting; did you mean set\?/],
  [
    'target: "builtin:echo", response_headers: { remove: [Server] }',
    /response_headers: has no effect, because the gateway itself answers for builtin:echo/,
  ],
  [`${TWO}, resolve: 500ms`, /upstreams\[0\]\.resolve: is too short; write 1s or more/],
  ['target: "http://10.0.0.5:80", resolve: 30s', /resolve: has no effect, because no target is a name; remove it/],
  ['target: "http://[::1]:80", resolve: 30s', /resolve: has no effect/],
  ['target: "builtin:echo", resolve: 30s', /resolve: has no effect/],
  [`${TWO}, resolve: on`, /resolve: must be off, or a duration such as 30s/],
  [`${TWO}, rate_limit: {}`, /rate_limit\.requests: is missing/],
  [`${TWO}, rate_limit: 100`, /rate_limit: must be off, or \{ requests: 100, window: 1s, burst: 20, per: login-id \}/],
  [`${TWO}, rate_limit: { requests: 0 }`, /rate_limit\.requests: must be/],
  [`${TWO}, rate_limit: { requests: 9, per: user }`, /rate_limit\.per: must be login-id or address/],
  [
    `${TWO}, rate_limit: { requests: 9, window: 1500ms }`,
    /rate_limit\.window: must be whole seconds, as clients read it/,
  ],
  [`${TWO}, maintenance: on`, /maintenance: must be off, or \{ retry_after: 10m, allow: \[10\.0\.0\.0\/8\] \}/],
  [`${TWO}, maintenance: { retry_after: 600 }`, /maintenance\.retry_after: must be a duration/],
  [`${TWO}, maintenance: { allow: ["::1", 10.0.0.0/33] }`, /allow\[1\]: must be an address or a CIDR range such as/],
]

for (const [rest, settings] of ACCEPTED) {
  t.test(`accepted: ${rest}`, async t => {
    t.match(settingsOf(t, entryOf(rest)).upstreams[0], settings)
  })
}

for (const [rest, fault] of FAULTY) {
  t.test(`refused, with its place and its remedy: ${rest}`, async t => {
    t.match(faultsOf(t, entryOf(rest)), [fault])
  })
}

const FIXED = {
  both: [
    ...['Host', 'Content-Length', 'content_length', 'Transfer-Encoding', 'Trailer', 'Connection', 'Keep-Alive', 'TE'],
    ...['Upgrade', 'Proxy-Authorization', 'Expect', 'Sec-WebSocket-Key', 'X-Request-Id', 'trace_id'],
    ...['X-Login-Id', 'x_login_type', 'X.Login.Extra', 'X-Login-Signature'],
  ],
  request_headers: ['X-Forwarded-For', 'X-Forwarded-Host', 'Forwarded', 'X-Real-IP', 'Via', 'X-HTTP-Method-Override'],
  response_headers: ['Access-Control-Allow-Origin', 'access_control_allow_credentials'],
}

for (const key of ['request_headers', 'response_headers'] as const) {
  for (const name of [...FIXED.both, ...FIXED[key]]) {
    t.test(`${key} cannot edit ${name}`, async t => {
      const place = (edit: string) =>
        new RegExp(`upstreams\\[0\\]\\.${key}\\.${edit}: cannot be edited: .*; remove it$`)
      t.match(faultsOf(t, entryOf(`${TWO}, ${key}: { set: { ${name}: a } }`)), [place(`set\\.${name}`)])
      t.match(faultsOf(t, entryOf(`${TWO}, ${key}: { remove: [${name}] }`)), [place('remove\\[0\\]')])
    })
  }
}
