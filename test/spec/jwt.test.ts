import t from 'tap'
import { openFixture, someone, withEveryPair } from '../support/gateway-fixture.ts'
import { isLeftOf, secondsUntil } from '../support/time-left.ts'

const SECRET = 'kV7p2QxT9mWz4RbY6nHcJ8sLdF3gAeUo'

const decode = (token: string) =>
  token
    .split('.')
    .slice(0, 2)
    .map(part => JSON.parse(Buffer.from(part, 'base64url').toString()))

withEveryPair(t, async (t, fixture) => {
  t.test('count per login: each login produces exactly one signed JWT, and each another one', async t => {
    const user = someone()
    const first = await fixture.gateway.sides.business.login(undefined, user)
    const second = await fixture.gateway.sides.business.login(undefined, user)
    t.not(first, second)
    const { data } = await fixture.operate('consumer', 'login', { user_id: user })
    t.same(Object.keys(data), ['token'])
  })

  t.test('claims: jti is unique and iat the time of issue; there is nothing else in a token', async t => {
    const before = Math.floor(Date.now() / 1000)
    const seen = new Set<string>()
    for (let i = 0; i < 20; i++) {
      const [header, payload] = decode(await fixture.gateway.sides.consumer.login(undefined, someone()))
      t.same(header, { alg: 'HS256', typ: 'JWT' })
      t.same(Object.keys(payload).sort(), ['iat', 'jti'])
      t.ok(payload.iat >= before && payload.iat <= Date.now() / 1000)
      seen.add(payload.jti)
    }
    t.equal(seen.size, 20)
  })

  t.test('a token is valid only while both hold: its signature verifies and its record exists', async t => {
    const token = await fixture.gateway.sides.business.login(undefined, someone())
    const [head, payload, signature] = token.split('.') as [string, string, string]
    t.equal(
      (await fixture.get('/api/v1/b/x', `${head}.${payload}.${signature.split('').reverse().join('')}`)).json().code,
      401,
    )
    t.equal((await fixture.get('/api/v1/b/x', token)).status, 200)
    await fixture.gateway.sides.business.logout({ headers: { authorization: token } })
    t.equal((await fixture.get('/api/v1/b/x', token)).json().code, 401)
  })
})

for (const profile of [1, 2] as const) {
  t.test(
    `profile ${profile}: secret_key, expire_seconds, token_name and algorithm are shared by both sides`,
    async t => {
      const jwt = { secret_key: SECRET, expire_seconds: 100, token_name: 'X-Token', algorithm: 'HS512' }
      const environment = Object.fromEntries(
        Object.entries(jwt).map(([key, value]) => [`JWT__${key.toUpperCase()}`, String(value)]),
      )
      const fixture = await openFixture(t, profile === 1 ? { profile, environment } : { profile, config: { jwt } })
      for (const [side, path] of [
        ['business', '/api/v1/b/x'],
        ['consumer', '/api/v1/c/x'],
      ] as const) {
        const began = Date.now()
        const token = await fixture.gateway.sides[side].login(undefined, someone())
        t.equal(decode(token)[0].alg, 'HS512')
        t.equal((await fixture.call({ path, headers: { 'x-token': `Bearer ${token}` } })).status, 200)
        t.equal((await fixture.call({ path, token })).json().code, 401, 'Authorization is not the configured header')
        const expiry = await fixture.store.sessions.tokenExpiresAt(side === 'business' ? 'BUSINESS' : 'CONSUMER', token)
        const now = Date.now()
        t.ok(
          isLeftOf(100, secondsUntil(expiry!, now), now - began),
          'the record lives for expire_seconds, to the second',
        )
      }
    },
  )
}

t.test('a gateway with another secret or algorithm accepts none of the tokens', async t => {
  const environment = { JWT__SECRET_KEY: SECRET }
  const fixture = await openFixture(t, { environment })
  const other = await openFixture(t, { environment: { JWT__SECRET_KEY: `${SECRET}!` } })
  const token = await other.gateway.sides.business.login(undefined, someone())
  t.equal((await other.get('/api/v1/b/x', token)).status, 200)
  t.equal((await fixture.get('/api/v1/b/x', token)).json().code, 401)
})
