import t from 'tap'
import { isHost } from '../../src/http/server/host.ts'
import { callRaw } from '../support/client.ts'
import { openFixture } from '../support/gateway-fixture.ts'

/* The invalid ones are in test/attack/corpus/hosts.ts, as bytes at the public listener. */

const INVALID = ['', 'a b', 'a, b', 'u@a', '[::1', '[::1]x', 'a:', 'a:0', 'a:65536', 'a:x', 'a/b', 'a..b']

t.test('a host is a name or an address, with or without a port', async t => {
  const VALID = ['localhost', 'a.example.', 'api_1', '127.0.0.1', '[::1]', '[2001:db8::1]', `${'a'.repeat(63)}.example`]
  for (const host of VALID) {
    for (const port of ['', ':1', ':80', ':8443', ':65535']) t.ok(isHost(host + port), host + port)
    for (const port of [':', ':0', ':08', ':65536', ':x', ':80:80']) t.notOk(isHost(host + port), host + port)
  }
  for (const host of INVALID) t.notOk(isHost(host), host)
})

t.test('invalid hosts and lengths are refused by the internal listener, whatever is requested', async t => {
  const fixture = await openFixture(t)
  const BAD = [
    ...INVALID.map(host => [`Host: ${host}`]),
    ['Host: x', 'Host: x'],
    ['X-Other: without a host'],
    ['Host: x', 'Content-Length: 00'],
    ['Host: x', 'Content-Length: +3'],
  ]
  const send = (path: string, lines: readonly string[]) =>
    callRaw(fixture.internal, [`GET ${path} HTTP/1.1`, ...lines, 'Connection: close', '', ''].join('\r\n'))
  const rows = BAD.flatMap(lines =>
    ['/livez', '/operations/v1/business/login', '/nowhere'].map(path => ({ path, lines })),
  )
  await Promise.all(
    rows.map(async ({ path, lines }) => {
      t.match(await send(path, lines), /^HTTP\/1\.1 400 /, `${path} ${lines.join(', ')}`)
    }),
  )
  t.match(await send('/livez', ['Host: x']), /^HTTP\/1\.1 200 /)
  t.match(await callRaw(fixture.internal, 'GET /livez HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /, 'HTTP/1.0 needs none')
})

t.test('an invalid host is refused, too, when a trusted proxy reports it', async t => {
  const fixture = await openFixture(t, { config: { trusted_proxies: ['127.0.0.1'] } })
  const path = '/api/v1/public/c/x'
  for (const host of ['a b', 'u@a', 'a:x', '[::1']) {
    t.equal((await fixture.call({ path, headers: { 'x-forwarded-host': host } })).status, 400, host)
  }
  await fixture.call({ path, headers: { 'x-forwarded-host': 'shop.example:8443' } })
  t.match(fixture.upstream.requests, [{ headers: { 'x-forwarded-host': 'shop.example:8443' } }], 'and no other arrives')
  t.equal(fixture.upstream.requests.length, 1)
})
