import t from 'tap'
import { faultsOf, settingsOf } from './folder.ts'

/* Browser sessions in the configuration. */

const CONSUMERS = 'login: { consumer: { kind: file, path: consumers.yaml } }\n'

t.test('as shipped no side has cookies, and what is written is taken', async t => {
  t.same(settingsOf(t, '').browser, {
    business: false,
    consumer: false,
    secure: true,
    keep: 'session',
    origins: [],
    title: 'dualgate',
  })
  const written =
    'browser: { business: on, secure: off, keep: browser, domain: example.com, origins: ["https://wiki.example.com"] }\n'
  t.match(settingsOf(t, written).browser, { business: true, secure: false, keep: 'browser', domain: 'example.com' })
  t.equal(settingsOf(t, '', { BROWSER__CONSUMER: 'on' }).browser.consumer, true)
})

const FAULTS: [title: string, browser: string, fault: RegExp, rest?: string][] = [
  ['a domain with a scheme', 'domain: "https://example.com"', /domain: must be a domain in lower case/],
  ['a domain of one label', 'domain: com', /domain: must be a domain/],
  ['an origin with a path', 'origins: ["https://a.example/x"]', /origins\[0\]: must be an origin/],
  ['a logo of another kind', 'logo: logo.gif', /logo: must be a file whose name ends with \.svg or \.png/],
  ['a logo that is missing', 'logo: logo.svg', /logo: is a file that does not exist/],
  ['a logo below a file', 'logo: consumers.yaml/logo.svg', /logo: cannot be read \(ENOTDIR\)/],
  ['a page of consumers that is no URL', 'consumer_page: /login', /consumer_page: must be a URL/],
  [
    'a page of consumers beside a login of consumers',
    'consumer_page: "https://shop.example"',
    /consumer_page: is never used/,
    CONSUMERS,
  ],
]

for (const [title, browser, fault, rest = ''] of FAULTS) {
  t.test(`${title} is a fault`, async t => {
    const faults = faultsOf(t, `${rest}browser: { ${browser} }\n`, {}, { 'consumers.yaml': 'accounts: []\n' })
    t.equal(faults.length, 1, faults.join('\n'))
    t.match(faults[0], fault)
  })
}

const WARNINGS: [title: string, written: string, warning: RegExp | null][] = [
  [
    'a cookie over HTTP',
    'browser: { business: on, secure: off }',
    /browser\.secure is off: browsers send the cookie unencrypted/,
  ],
  ['the same where no side has cookies', 'browser: { secure: off }', null],
  ['a page over HTTP', 'browser: { business: on, origins: ["http://a.example"] }', /browser\.origins\[0\] /],
  [
    'an origin of both without credentials',
    'browser: { consumer: on, origins: ["https://a.example"] }\ncors: { origin: ["https://a.example"] }',
    /browser\.origins\[0\] stands in cors\.origin, too, but without credentials browsers send no cookie/,
  ],
  [
    'an origin with credentials whose writes are refused',
    'browser: { consumer: on }\ncors: { origin: ["https://a.example"], credentials: on }',
    /cors\.origin\[0\] may send the cookie, but its writes are refused/,
  ],
  [
    'an origin of both with credentials',
    'browser: { consumer: on, origins: ["https://a.example"] }\ncors: { origin: ["https://a.example"], credentials: on }',
    null,
  ],
  [
    'a backend that signs consumers in without their cookies',
    'upstreams: [{ name: shop, match: /api/v1/shop, target: "http://127.0.0.1:1", signs_in: consumer }]',
    /upstreams\[0\]\.signs_in has no effect while browser\.consumer is off/,
  ],
  [
    'the same with their cookies',
    'browser: { consumer: on }\nupstreams: [{ name: shop, match: /api/v1/shop, target: "http://127.0.0.1:1", signs_in: consumer }]',
    null,
  ],
  ['origins to which the sign-in leads only', 'browser: { business: on, origins: ["https://a.example"] }', null],
]

for (const [title, written, warning] of WARNINGS) {
  t.test(`${title}: ${warning === null ? 'no warning' : 'a warning'}`, async t => {
    const { warnings } = settingsOf(t, `${written}\n`)
    t.equal(warnings.length, warning === null ? 0 : 1, warnings.join('\n'))
    if (warning !== null) t.match(warnings[0], warning)
  })
}
