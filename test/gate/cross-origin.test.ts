import t from 'tap'
import { isCrossOrigin, isWrite } from '../../src/gate/cross-origin.ts'

/* Requests with a cookie: which of them a page of another origin may have caused. */

const OWN = { protocol: 'https', host: 'wiki.example' }
const ALLOWED = new Set(['https://other.example'])

const CASES: [what: string, headers: Record<string, string>, isCross: boolean][] = [
  ['the page itself', { 'sec-fetch-site': 'same-origin', origin: 'https://wiki.example' }, false],
  ['its user, at the address line', { 'sec-fetch-site': 'none' }, false],
  ['a page of a sister host', { 'sec-fetch-site': 'same-site', origin: 'https://a.wiki.example' }, true],
  ['a page of another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, true],
  ['a page of another site, without its origin', { 'sec-fetch-site': 'cross-site' }, true],
  ['a page of another site that names ours', { 'sec-fetch-site': 'cross-site', origin: 'https://wiki.example' }, true],
  ['an allowed page of another site', { 'sec-fetch-site': 'cross-site', origin: 'https://other.example' }, false],
  ['a value that no browser sends', { 'sec-fetch-site': 'same-origin, none' }, true],
  ['an older browser, on the page itself', { origin: 'https://wiki.example' }, false],
  ['the same with an unusual spelling', { origin: 'https://wiki.example' }, false],
  ['an older browser, on another scheme', { origin: 'http://wiki.example' }, true],
  ['an older browser, on another port', { origin: 'https://wiki.example:8443' }, true],
  ['a page without an origin of its own', { origin: 'null' }, true],
  ['a sandboxed page of a new browser', { 'sec-fetch-site': 'cross-site', origin: 'null' }, true],
  ['no browser, or one that hides it', {}, true],
]

for (const [what, headers, isCross] of CASES) {
  t.test(`${what}: ${isCross ? 'cross-origin' : 'same origin'}`, async t => {
    t.equal(isCrossOrigin(headers, OWN, ALLOWED), isCross)
  })
}

t.test('hosts are compared as browsers write them', async t => {
  const origin = { origin: 'https://wiki.example' }
  for (const host of ['WIKI.example', 'wiki.example:443']) {
    t.equal(isCrossOrigin(origin, { protocol: 'https', host }, new Set()), false, host)
  }
  for (const [protocol, host] of [
    ['http', 'wiki.example:443'],
    ['https', 'wiki.example:80'],
    ['https', ''],
  ] as const)
    t.equal(isCrossOrigin(origin, { protocol, host }, new Set()), true, `${protocol} ${host}`)
  t.equal(isCrossOrigin({ origin: 'http://a:8080' }, { protocol: 'http', host: 'a:8080' }, new Set()), false)
  t.equal(isCrossOrigin({ origin: 'http://a' }, { protocol: 'http', host: 'a:80' }, new Set()), false)
})

t.test('writes and handshakes have to prove where they come from', async t => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) t.equal(isWrite(method, false), true, method)
  for (const method of ['GET', 'HEAD', 'OPTIONS']) t.equal(isWrite(method, false), false, method)
  t.equal(isWrite('GET', true), true)
})
