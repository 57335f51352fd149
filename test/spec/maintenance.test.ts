import t, { type Test } from 'tap'
import { createMaintenance } from '../../src/gate/maintenance.ts'
import { type FixtureOptions, openFixture } from '../support/gateway-fixture.ts'
import { withoutRedis } from '../support/redis-server.ts'

/* An upstream under maintenance is out of service, except for clients that its settings name. */

const OUT = { name: 'out', match: '/api/v1/c/out', target: 'http://127.0.0.1:1' }

async function open(t: Test, maintenance: object, options: FixtureOptions = {}) {
  const fixture = await openFixture(t, { ...options, upstreams: [{ ...OUT, maintenance }] })
  return fixture
}

for (const http_status of ['envelope', 'native'] as const) {
  t.test(`requests get 503 with Retry-After and the envelope, errors.http_status ${http_status}`, async t => {
    const fixture = await open(t, { retry_after: '90s' }, { config: { errors: { http_status } } })
    for (const [method, body] of [
      ['GET', undefined],
      ['POST', { a: 1 }],
    ] as const) {
      const answer = await fixture.call({ method, path: '/api/v1/c/out/x', ...(body !== undefined && { body }) })
      t.equal(answer.status, 503)
      t.equal(answer.headers['retry-after'], '90')
      const { trace_id, ...envelope } = answer.json()
      t.same(envelope, { code: 503, message: 'Under maintenance, try again later', data: null, success: false })
      t.match(trace_id, /^[0-9a-f]{32}$/)
    }
    t.ok(fixture.log.some(line => JSON.parse(line).refused === 'MAINTENANCE'))
    const metrics = await (await fetch(`${fixture.internal}/metrics`)).text()
    t.match(metrics, /^dualgate_refusals_total\{reason="MAINTENANCE"\} 2$/m)
  })
}

t.test('other upstreams and the gateway’s own routes stay in service', async t => {
  const fixture = await openFixture(t, { upstreams: [{ ...OUT, match: '/api/v1', maintenance: {} }] })
  t.equal((await fixture.get('/api/v1/c/x')).status, 503)
  t.equal((await fixture.get('/api/v2/public/c/x')).status, 200)
  t.equal((await fixture.get('/api/v1/public/b/captcha')).status, 200)
  t.equal((await fixture.get('/api/v1/b/x')).json().code, 503, 'without a token too')
  t.ok(await fixture.signIn())
})

t.test(
  'the decision comes before tokens are read: a store that is down changes nothing',
  { skip: withoutRedis },
  async t => {
    const fixture = await open(t, {}, { store: 'redis' })
    const { data } = await fixture.operate('consumer', 'login', { user_id: 'u1' })
    await fixture.redis!.kill()
    t.match((await fixture.get('/api/v1/c/out/x', data.token)).json(), {
      message: 'Under maintenance, try again later',
    })
  },
)

t.test('clients with an address in `allow` get through to the gate', async t => {
  const fixture = await open(
    t,
    { allow: ['10.0.0.0/8', '2001:db8::/32'] },
    { config: { trusted_proxies: ['127.0.0.1'] } },
  )
  const from = async (address: string): Promise<number> =>
    (await fixture.call({ path: '/api/v1/c/out/x', headers: { 'x-forwarded-for': address } })).json().code
  t.equal(await from('10.1.2.3'), 401)
  t.equal(await from('2001:db8::7'), 401)
  t.equal(await from('11.1.2.3'), 503)
  t.equal(await from('10.1.2.3, 11.1.2.3'), 503, 'the address is the one that the trusted proxy saw')
})

t.test('/verify refuses with 503 and Retry-After, except addresses in `allow` from a trusted proxy', async t => {
  const open503 = async (trusted: string[]) => {
    const fixture = await open(
      t,
      { retry_after: '90s', allow: ['10.0.0.1', '127.0.0.1'] },
      { config: { trusted_proxies: trusted } },
    )
    return async (path: string, address?: string) => {
      const client = address === undefined ? {} : { 'x-forwarded-for': address }
      const headers = { 'x-original-uri': path, 'x-original-method': 'GET', ...client }
      return fetch(`${fixture.internal}/verify`, { headers })
    }
  }
  const untrusted = await open503([])
  const refused = await untrusted('/api/v1/c/out/x', '10.0.0.1')
  t.equal(refused.status, 503, 'the address of the proxy is not that of the client')
  t.equal(refused.headers.get('retry-after'), '90')
  t.equal((await untrusted('/api/v1/c/x')).status, 401)
  const trusted = await open503(['127.0.0.1'])
  t.equal((await trusted('/api/v1/c/out/x', '10.0.0.1')).status, 401)
  t.equal((await trusted('/api/v1/c/out/x', '10.0.0.1, 10.0.0.2')).status, 503)
  t.equal((await trusted('/api/v1/c/out/x')).status, 503)
})

t.test('addresses and ranges of both families match, an IPv4 address written as IPv6 too', async t => {
  const { admits, retryAfter } = createMaintenance({
    retry_after: 1500,
    allow: ['10.0.0.1', '192.168.0.0/16', 'fe80::/10', '::1'],
  })
  t.equal(retryAfter, 2, 'whole seconds, none too early')
  for (const address of ['10.0.0.1', '192.168.7.7', '::1', '::ffff:10.0.0.1', 'fe80::1%eth0'])
    t.ok(admits(address), address)
  for (const address of ['10.0.0.2', '192.169.0.1', '::2', '', 'unix', '10.0.0.1, 1.1.1.1'])
    t.notOk(admits(address), address)
})
