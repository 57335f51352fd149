import t, { type Test } from 'tap'
import { type Fixture, type FixtureOptions, openFixture } from '../support/gateway-fixture.ts'
import { withoutRedis } from '../support/redis-server.ts'

/* Client addresses that may call a path, on the gateway's own routes and on forwarded ones. */

const ACCESS = [
  { path: '/console/*', allow: ['10.0.0.0/8'] },
  { path: '/api/v1/public/b/login', allow: ['10.0.0.0/8'] },
  { path: '/api/v1/sys/*', allow: ['10.0.0.0/8'], deny: ['10.0.0.9'] },
  { path: '/api/v1/*', deny: ['203.0.113.0/24'] },
]

async function open(t: Test, { config, ...options }: FixtureOptions = {}): Promise<Fixture> {
  const fixture = await openFixture(t, {
    ...options,
    config: { access: ACCESS, trusted_proxies: ['127.0.0.1'], ...config },
  })
  return fixture
}

const from = (address: string) => ({ 'x-forwarded-for': address })

for (const http_status of ['envelope', 'native'] as const) {
  t.test(`other addresses get 403 ADDRESS_NOT_ALLOWED, errors.http_status ${http_status}`, async t => {
    const fixture = await open(t, { config: { errors: { http_status } } })
    const answer = await fixture.call({ path: '/api/v1/sys/x', headers: from('11.0.0.1') })
    t.equal(answer.status, 403)
    const { trace_id, ...envelope } = answer.json()
    t.same(envelope, { code: 403, message: 'Address not allowed', data: null, success: false })
    t.match(trace_id, /^[0-9a-f]{32}$/)
    t.ok(fixture.log.some(line => JSON.parse(line).refused === 'ADDRESS_NOT_ALLOWED'))
    const metrics = await (await fetch(`${fixture.internal}/metrics`)).text()
    t.match(metrics, /^dualgate_refusals_total\{reason="ADDRESS_NOT_ALLOWED"\} 1$/m)
  })
}

t.test('the first rule that covers a path decides, for own routes, pages and upstreams', async t => {
  const fixture = await open(t)
  const token = await fixture.operate('consumer', 'login', { user_id: 'u1' }).then(({ data }) => data.token)
  const CODES: [path: string, address: string, code: number][] = [
    ['/console', '11.0.0.1', 403],
    ['/console/', '11.0.0.1', 403],
    ['/console/main.js', '11.0.0.1', 403],
    ['/console/main.js', '10.0.0.1', 200],
    ['/docs', '11.0.0.1', 200],
    ['/api/v1/sys/session/page', '11.0.0.1', 403],
    ['/api/v1/sys/session/page', '10.0.0.9', 403],
    ['/api/v1/sys/session/page', '10.0.0.8', 401],
    ['/api/v1/SYS/session/page', '11.0.0.1', 403],
    ['/api/v1/sys', '11.0.0.1', 403],
    ['/api/v1/c/x', '203.0.113.7', 403],
    ['/api/v1/c/x', '11.0.0.1', 200],
    ['/api/v1/public/b/captcha', '203.0.113.7', 403],
    ['/api/v1/public/b/captcha', '11.0.0.1', 200],
  ]
  for (const [path, address, code] of CODES) {
    const answer = await fixture.call({ path, headers: from(address), token })
    t.equal(
      answer.headers['content-type']?.includes('json') ? (answer.json().code ?? 200) : answer.status,
      code,
      `${path} from ${address}`,
    )
  }
})

t.test(
  'the decision comes before tokens are read: a store that is down changes nothing',
  { skip: withoutRedis },
  async t => {
    const fixture = await open(t, { store: 'redis' })
    const { data } = await fixture.operate('business', 'login', { user_id: 'u1' })
    await fixture.redis!.kill()
    const answer = await fixture.call({ path: '/api/v1/sys/x', headers: from('11.0.0.1'), token: data.token })
    t.match(answer.json(), { message: 'Address not allowed' })
  },
)

t.test('a client that is not a trusted proxy cannot choose its address', async t => {
  const fixture = await open(t, { config: { trusted_proxies: ['127.0.0.2'] } })
  for (const name of [
    'x-forwarded-for',
    'forwarded',
    'x-real-ip',
    'x-client-ip',
    'cf-connecting-ip',
    'true-client-ip',
  ]) {
    const value = name === 'forwarded' ? 'for=10.0.0.1' : '10.0.0.1'
    t.equal((await fixture.call({ path: '/api/v1/sys/x', headers: { [name]: value } })).status, 403, name)
  }
})

t.test('behind a trusted proxy, what the client wrote into X-Forwarded-For does not count', async t => {
  const fixture = await open(t)
  for (const value of [
    '10.0.0.1, 11.0.0.1',
    '10.0.0.1,11.0.0.1',
    '10.0.0.1, unknown',
    'localhost',
    '10.0.0.1, 11.0.0.1:80',
    '10.0.0.1:x',
  ]) {
    t.equal((await fixture.call({ path: '/api/v1/sys/x', headers: from(value) })).status, 403, value)
  }
  for (const value of ['10.0.0.1', '10.0.0.1:80', '11.0.0.1, 10.0.0.1:80'])
    t.equal((await fixture.call({ path: '/api/v1/sys/x', headers: from(value) })).json().code, 401, value)
})

t.test('/verify knows the address from a trusted proxy only, and refuses what it does not know', async t => {
  for (const [trusted_proxies, codes] of [
    [
      ['127.0.0.1', '192.168.0.0/16'],
      {
        '10.0.0.1': 401,
        '10.0.0.1, 192.168.0.7': 401,
        '10.0.0.1:80, 192.168.0.7:443': 401,
        '11.0.0.1:80': 403,
        '11.0.0.1': 403,
        '10.0.0.1, 11.0.0.1': 403,
        '10.0.0.1, unknown': 403,
        '': 403,
      },
    ],
    [[], { '10.0.0.1': 403, '': 403 }],
  ] as const) {
    const fixture = await open(t, { config: { trusted_proxies } })
    for (const [address, status] of Object.entries(codes)) {
      const headers = {
        'x-original-uri': '/api/v1/sys/x',
        'x-original-method': 'GET',
        ...(address !== '' && { 'x-forwarded-for': address }),
      }
      t.equal((await fetch(`${fixture.internal}/verify`, { headers })).status, status, address)
    }
  }
})

t.test('explain --live shows which rule decides about an address', async t => {
  const fixture = await open(t)
  const explain = async (body: object): Promise<string> => {
    const answer = await fetch(`${fixture.internal}/operations/v1/explain`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.settings.internal.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ method: 'GET', target: '/api/v1/sys/x', ...body }),
    })
    const { data } = (await answer.json()) as { data: { rows: { name: string; value: string }[] } }
    return data.rows.map(({ name, value }) => `${name}: ${value}`).join('\n')
  }
  const rule = /^access: access\[2\] \/api\/v1\/sys\/\*: only 10\.0\.0\.0\/8 except 10\.0\.0\.9$/m
  t.match(await explain({}), rule)
  t.match(await explain({ address: '10.0.0.9' }), /^refused: ADDRESS_NOT_ALLOWED: 10\.0\.0\.9$/m)
  t.match(await explain({ address: '10.0.0.8' }), /^decision: refused: NOT_LOGGED_IN/m)
})
