import t from 'tap'
import { faultsOf, GOOD_KEY } from './folder.ts'

const WEBHOOK = (url: string): string => `events: { webhooks: [{ url: "${url}", secret: ${GOOD_KEY} }] }`
const HTTP = (rest: string): string => `accounts: { kind: http, secret: ${GOOD_KEY}, ${rest} }`
const LDAP = (url: string): string =>
  `accounts: { kind: ldap, preset: openldap, url: ${url}, base: "dc=example,dc=com", bind: { dn: "cn=a,dc=example,dc=com", password: p } }`
const SQL = (url: string, section = 'accounts'): string =>
  `${section}: { kind: sql, url: "${url}", query: "SELECT 1 FROM u WHERE n = :username" }`
const PROVIDER = (rest: string): string =>
  `browser: { business: on, url: "https://a.example" }
login: { providers: [{ name: a, side: business, label: A, client_id: a, client_secret: b, account: claims, ${rest} }] }`
const REDIS = (url: string): string => `store: { kind: redis, redis: { url: "${url}" } }`
const UPSTREAM = (rest: string): string => `upstreams: [{ name: a, match: /api, ${rest} }]`

/** A configuration with one URL, what is wrong with it, and what to do. */
const FAULTS: [title: string, yaml: string, fault: RegExp][] = [
  ['a webhook without a host', WEBHOOK('https://'), /webhooks\[0\]\.url: must be http:\/\/host:port\/path or/],
  ['a webhook with a space', WEBHOOK('https://a b/'), /webhooks\[0\]\.url: must be http:\/\/host:port\/path or/],
  ['a webhook on an invalid port', WEBHOOK('http://a:65536/'), /url: must be .*, not "http:\/\/a:65536\/"$/],
  ['a webhook with a user, who would not be sent', WEBHOOK('https://a:b@c/'), /webhooks\[0\]\.url: must be .*path$/],
  ['a backend of accounts', HTTP('url: "http://[::1/"'), /accounts\.url: must be http:\/\/host:port\/path or/],
  [
    'a backend that stores changes',
    HTTP('url: "http://a/", update_url: "http://a:70000/"'),
    /accounts\.update_url: must be http:\/\/host:port\/path or/,
  ],
  ['a directory', LDAP('"ldaps://a:70000"'), /accounts\.url: must be ldaps:\/\/host, .*, not "ldaps:\/\/a:70000"$/],
  ['one of two directories', LDAP('["ldaps://a", "ldaps://b:x"]'), /accounts\.url\[1\]: must be ldaps:\/\/host or/],
  ['an issuer', PROVIDER('issuer: "https://a:70000"'), /providers\[0\]\.issuer: must be a URL such as https:/],
  [
    'a proxy',
    PROVIDER('issuer: "https://a", proxy: "http://a:b"'),
    /providers\[0\]\.proxy: must be http:\/\/host:port, not "http:\/\/a:b"/,
  ],
  ['a page of consumers', 'browser: { consumer_page: "https://[a/" }', /consumer_page: must be a URL such as https:/],
  ['a target', UPSTREAM('target: "http://a:70000"'), /target: must be http:\/\/host:port, .*, not "http:\/\/a:70000"/],
  [
    'a Redis whose password is not percent-encoded',
    REDIS('redis://:pa/ss@a:1'),
    /store\.redis\.url: must be redis:\/\/user:password@host:port\/0 .* percent-encoded$/,
  ],
  [
    'a Redis whose password has a %',
    REDIS('redis://:a%zz@b:1'),
    /store\.redis\.url: has a % that is not percent-encoding; write %25$/,
  ],
  ['a database of Redis by its name', REDIS('redis://a:1/cache'), /store\.redis\.url: must be redis:.*:port\/0 /],
  ['options of a client of Redis', REDIS('redis://a:1/0?db=3'), /store\.redis\.url: must be redis:.*:port\/0 /],
  ['a database', SQL('mysql://a:b@c:70000/d'), /accounts\.url: must be postgres:\/\/user:password@host:port\/database/],
  ['a password with %', SQL('mysql://a:b%zz@c/d'), /accounts\.url: password has a % that .*; write %25$/],
  ['TLS of a database', SQL('mysql://a:b@c/d?sslmode=maybe'), /accounts\.url: sslmode must be disable, require, /],
  [
    'an address whose certificate MySQL cannot verify',
    SQL('mysql://a:b@10.0.0.1/d?sslmode=require'),
    /accounts\.url: host must be a name, not an address, where TLS is verified$/,
  ],
  [
    'an authority without TLS',
    SQL('mysql://a:b@c/d?sslrootcert=/nowhere'),
    /accounts\.url: sslrootcert has no effect without sslmode=require; add it$/,
  ],
  [
    'an authority that is missing',
    SQL('mysql://a:b@c/d?sslmode=require&sslrootcert=/nowhere'),
    /accounts\.url: \/nowhere no such file; sslrootcert names it$/,
  ],
  [
    'a database of consumers',
    `login: { ${SQL('mysql://a:b@c/d?sslmode=maybe', 'consumer')} }`,
    /login\.consumer\.url: sslmode must be disable, require, /,
  ],
]

for (const [title, yaml, fault] of FAULTS) {
  t.test(`a URL that nothing can reach is a fault: ${title}`, async t => {
    const faults = faultsOf(t, yaml)
    t.equal(faults.length, 1, faults.join('\n'))
    t.match(faults[0], fault)
    t.notMatch(faults[0], 'pa/ss')
  })
}

/** Origins of pages as no browser sends them, and as it does. */
const ORIGINS: [written: string, sent: string][] = [
  ['https://Admin.example', 'https://admin.example'],
  ['https://admin.example:443', 'https://admin.example'],
  ['http://admin.example:080', 'http://admin.example'],
  ['https://admin.example?a=b', 'https://admin.example'],
  ['https://a:b@admin.example', 'https://admin.example'],
  ['https://bücher.example', 'https://xn--bcher-kva.example'],
  ['http://[0:0::1]:3000', 'http://[::1]:3000'],
]

/** Where origins are written, and the start of the fault of the second one. */
const PLACES: [place: string, yaml: (origins: string) => string][] = [
  ['browser.origins[1]', origins => `browser: { business: on, origins: ${origins} }`],
  ['cors.origin[1]', origins => `cors: { origin: ${origins} }`],
  [
    'upstreams[0].websocket.origins[1]',
    origins => UPSTREAM(`target: "http://127.0.0.1:1", websocket: { origins: ${origins} }`),
  ],
]

for (const [place, yaml] of PLACES) {
  t.test(`an origin that no browser sends is a fault: ${place}`, async t => {
    for (const [written, sent] of ORIGINS) {
      const faults = faultsOf(t, yaml(`["https://b.example:8443", "${written}"]`))
      t.equal(faults.length, 1, faults.join('\n'))
      t.ok(faults[0]?.endsWith(`${place}: must be written as browsers do: ${sent}`), written)
    }
    t.same(faultsOf(t, yaml(`["https://b.example:8443", "${ORIGINS[0]![1]}"]`)), [])
  })
}
