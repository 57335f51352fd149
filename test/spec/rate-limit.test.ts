import t, { type Test } from 'tap'
import { call } from '../support/client.ts'
import { type FixtureOptions, openFixture } from '../support/gateway-fixture.ts'
import { startUpstream } from '../support/upstream.ts'

/* How many requests a client may send to an upstream. */

async function open(t: Test, rate_limit: object, options: FixtureOptions = {}) {
  const backend = await startUpstream()
  t.teardown(() => backend.close())
  const limited = { name: 'few', match: '/api/v1/public/c/few', target: backend.url, rate_limit }
  const guarded = { ...limited, name: 'users', match: '/api/v1/c/few', rate_limit: { ...rate_limit } }
  const fixture = await openFixture(t, { ...options, upstreams: [limited, guarded] })
  const login = async (user_id: string): Promise<string> =>
    (await fixture.operate('consumer', 'login', { user_id })).data.token
  return { fixture, backend, login }
}

/** Checks the seconds to wait that an answer names: all of them, but those that have passed since the limit was used up. */
function isLeftOf(t: Test, whole: number, seconds: number, elapsed: number): void {
  t.ok(seconds <= whole && seconds >= whole - Math.ceil(elapsed / 1000), `${seconds} s of ${whole} s are left`)
}

for (const http_status of ['envelope', 'native'] as const) {
  t.test(`a request beyond the limit gets 429 with when to come back, errors.http_status ${http_status}`, async t => {
    const { fixture, backend } = await open(t, { requests: 2, window: '60s' }, { config: { errors: { http_status } } })
    const ask = (method: string) =>
      fixture.call({ method, path: '/api/v1/public/c/few/x', ...(method === 'POST' && { body: { a: 1 } }) })
    const began = fixture.now()
    t.equal((await ask('POST')).status, 200)
    t.equal((await ask('GET')).status, 200)
    for (const method of ['GET', 'POST']) {
      const answer = await ask(method)
      t.equal(answer.status, 429)
      const seconds = Number(answer.headers['retry-after'])
      isLeftOf(t, 30, seconds, fixture.now() - began)
      t.equal(answer.headers['ratelimit-policy'], '"login-id";q=2;w=60')
      t.equal(answer.headers.ratelimit, `"login-id";r=0;t=${seconds}`)
      const { trace_id, ...envelope } = answer.json()
      t.same(envelope, { code: 429, message: 'Too many requests, try again later', data: null, success: false })
      t.match(trace_id, /^[0-9a-f]{32}$/)
    }
    t.equal(backend.requests.length, 2)
    t.equal((await fixture.get('/api/v1/public/c/other')).status, 200, 'other upstreams have no limit')
    t.ok(fixture.log.some(line => JSON.parse(line).refused === 'RATE_LIMITED' && JSON.parse(line).upstream === 'few'))
    const metrics = await (await fetch(`${fixture.internal}/metrics`)).text()
    t.match(metrics, /^dualgate_refusals_total\{reason="RATE_LIMITED"\} 2$/m)
  })
}

t.test('per login-id, a user has one limit on every connection and with every token', async t => {
  const { fixture, login } = await open(t, { requests: 2, window: '60s' })
  const [first, again, other] = [await login('7'), await login('7'), await login('8')]
  const codeOf = async (token?: string): Promise<number> =>
    (await fixture.get('/api/v1/c/few', token)).json().code ?? 200
  t.equal(await codeOf(first), 200)
  t.equal(await codeOf(again), 200)
  t.equal(await codeOf(first), 429)
  t.equal(await codeOf(other), 200)
  t.equal(await codeOf(), 401, 'requests without the session that they need are refused as such')
})

t.test('per address, a client cannot choose its address, and an IPv6 client has one for its /64', async t => {
  const untrusted = await open(t, { requests: 1, window: '60s', per: 'address' })
  const from = (address: string) => ({ path: '/api/v1/public/c/few', headers: { 'x-forwarded-for': address } })
  t.equal((await untrusted.fixture.call(from('10.0.0.1'))).status, 200)
  t.equal((await untrusted.fixture.call(from('10.0.0.2'))).status, 429)
  const config = { trusted_proxies: ['127.0.0.1'] }
  const { fixture } = await open(t, { requests: 1, window: '60s', per: 'address' }, { config })
  for (const [address, status] of [
    ['10.0.0.1', 200],
    ['10.0.0.2', 200],
    ['10.0.0.3, 10.0.0.1', 429],
    ['::ffff:10.0.0.1', 429],
    ['2001:db8::1', 200],
    ['2001:db8::2', 429],
    ['2001:db8:0:1::1', 200],
    ['10.0.0.1:1001', 429],
    ['10.0.0.4:1001', 200],
    ['10.0.0.4:1002', 429],
    ['10.0.0.4, 127.0.0.1:80', 429],
    ['[2001:db8::1]:5', 429],
    ['[2001:db8::1]', 429],
    ['[2001:db8:0:2::1]:5', 200],
    ['[2001:db8:0:2::2]:6', 429],
    ['unknown', 200],
    ['10.0.0.5:x', 429],
    ['[10.0.0.5]:7', 429],
  ] as const) {
    t.equal((await fixture.call(from(address))).status, status, address)
    const asked = { ...from(address), path: `/verify${from(address).path}` }
    t.equal((await call(fixture.internal, asked)).status, 429, `${address}, which counts together at /verify`)
  }
})

t.test('a bucket fills as time passes', async t => {
  const { fixture } = await open(t, { requests: 1, window: '60s' })
  const status = async (): Promise<number> => (await fixture.get('/api/v1/public/c/few')).status
  t.same([await status(), await status()], [200, 429])
  await fixture.elapse(60_000)
  t.same([await status(), await status()], [200, 429])
})

t.test('/verify counts too, and explain --live counts nothing', async t => {
  const { fixture, login } = await open(t, { requests: 1, window: '60s' })
  const token = await login('7')
  const explain = async (): Promise<string> => {
    const answer = await call(fixture.internal, {
      method: 'POST',
      path: '/operations/v1/explain',
      token: fixture.settings.internal.secret,
      body: { method: 'GET', target: '/api/v1/c/few', token },
    })
    return answer
      .json()
      .data.rows.map(({ name, value }: { name: string; value: string }) => `${name}: ${value}`)
      .join('\n')
  }
  const verify = (by: string, headers = {}) =>
    call(fixture.internal, { path: '/verify/api/v1/c/few', token: by, headers })
  t.match(await explain(), /^limit: 1 requests in 60 s per login-id, 1 at once/m)
  t.match(await explain(), /^decision: allowed$/m)
  const began = fixture.now()
  t.equal((await verify(token)).status, 200)
  const refused = await verify(token)
  t.equal(refused.status, 429)
  isLeftOf(t, 60, Number(refused.headers['retry-after']), fixture.now() - began)
  t.match(await explain(), /^decision: refused: RATE_LIMITED \(429\)/m)
  t.equal((await fixture.get('/api/v1/c/few', token)).status, 429, 'both listeners count together')
  t.equal((await verify(await login('8'))).status, 200)
})
