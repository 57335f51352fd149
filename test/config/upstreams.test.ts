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
]

const FAULTY: [rest: string, fault: RegExp][] = [
  ['targets: [{ url: "http://a:70000" }]', /targets\[0\]\.url: is not an address; write scheme, host and port/],
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
