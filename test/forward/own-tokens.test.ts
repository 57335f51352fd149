import { createHmac } from 'node:crypto'
import t, { type Test } from 'tap'
import { type Fixture, type FixtureOptions, openFixture, someone } from '../support/gateway-fixture.ts'

/* No upstream gets a token of this gateway, live or ended, unless its settings say so; what others issue is their own. */

const OPEN = '/api/v1/public/c/x'

async function open(t: Test, options: FixtureOptions = {}): Promise<Fixture> {
  const fixture = await openFixture(t, options)
  return fixture
}

const last = ({ upstream }: Fixture) => upstream.requests.at(-1)!

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token as another program would make it with the same key. */
function signed(claims: object, secret: string): string {
  const text = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

t.test('an ended token is not forwarded, and neither is one without a record', async t => {
  const fixture = await open(t)
  const ended = await fixture.gateway.sides.consumer.login(undefined, someone())
  await fixture.get('/api/v1/c/x', ended)
  await fixture.post('/api/v1/c/logout', undefined, ended)
  const { secret_key: key } = fixture.settings.jwt
  const iat = Math.floor(Date.now() / 1000)
  const tokens = [ended, signed({ jti: 'x', iat }, key), signed({ jti: 'x', iat: iat + 9999, exp: 1 }, key)]
  for (const token of tokens) {
    for (const authorization of [token, `Bearer ${token}`]) {
      await fixture.call({ path: `${OPEN}?a=1&token=${token}`, headers: { authorization } })
      t.match(last(fixture), { url: `${OPEN}?a=1`, headers: { authorization: undefined } })
    }
  }
  const foreign = signed({ jti: 'x', iat }, 'the key of another issuer altogether')
  await fixture.call({ path: `${OPEN}?token=${foreign}`, headers: { authorization: foreign } })
  t.match(last(fixture), { url: `${OPEN}?token=${foreign}`, headers: { authorization: foreign } })
})

t.test('a token is forwarded neither in Authorization nor in the configured header', async t => {
  for (const profile of [1, 2] as const) {
    const named = { token_name: 'X-Token' }
    const fixture = await open(t, {
      profile,
      ...(profile === 1 ? { environment: { JWT__TOKEN_NAME: 'X-Token' } } : { config: { jwt: named } }),
    })
    const token = await fixture.gateway.sides.business.login(undefined, someone())
    const headers = { 'x-token': token, authorization: `bearer ${token}`, 'x-other': 'kept' }
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      await fixture.call({ method, path: OPEN, headers })
      t.match(last(fixture).headers, { authorization: undefined, 'x-token': undefined, 'x-other': 'kept' }, method)
    }
    const others = { 'x-token': 'of another kind', authorization: 'Basic YTpi' }
    await fixture.call({ path: OPEN, headers: others })
    t.match(last(fixture).headers, others, 'what is not ours is the upstream’s own')
    await fixture.call({ path: '/api/v1/b/x', headers })
    t.match(last(fixture).headers, { authorization: undefined, 'x-token': undefined, 'x-other': 'kept' })
    t.type(last(fixture).headers['x-login-id'], 'string', 'the session was found by it')
  }
})

t.test('an upstream that takes the header whole gets the bare token, and one without an exception none', async t => {
  const fixture = await open(t)
  const { url: target } = fixture.upstream
  const whole = await open(t, {
    config: {
      gate: { exceptions: [{ path: '/api/v1/sys/open', needs: 'none' }] },
      upstreams: [
        { name: 'whole', match: '/api/v1/c', target, pass_authorization: 'bare', websocket: {} },
        { name: 'open', match: '/api/v1/public', target, pass_authorization: 'bare' },
        { name: 'none', match: '/api', target },
      ],
    },
  })
  const token = await whole.gateway.sides.consumer.login(undefined, someone())
  for (const authorization of [token, `Bearer ${token}`, `bEARER ${token}`]) {
    for (const path of ['/api/v1/c/x', OPEN]) {
      await whole.call({ path: `${path}?token=${token}`, headers: { authorization } })
      t.match(
        last(fixture),
        { url: `${path}?token=${token}`, headers: { authorization: token } },
        `${path}: ${authorization}`,
      )
    }
    await whole.call({ path: `/api/v1/sys/open?token=${token}&a=1`, headers: { authorization } })
    t.match(last(fixture), { url: '/api/v1/sys/open?a=1', headers: { authorization: undefined } })
  }
  await whole.call({ path: OPEN, headers: { authorization: 'Basic YTpi' } })
  t.match(last(fixture).headers, { authorization: 'Basic YTpi' })
  const handshake = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
  const key = { 'sec-websocket-key': Buffer.alloc(16).toString('base64') }
  await whole.call({ path: `/api/v1/c/x?token=${token}`, headers: { ...handshake, ...key } })
  t.match(last(fixture), { url: '/api/v1/c/x', headers: { authorization: token } }, 'also when a handshake brought it')
})

t.test('an upstream that gets tokens gets them as they were sent, on public paths and in the query too', async t => {
  const fixture = await open(t)
  const passing = await open(t, {
    config: { upstreams: [{ name: 'all', match: '/api', target: fixture.upstream.url, pass_authorization: true }] },
  })
  const token = await passing.gateway.sides.consumer.login(undefined, someone())
  for (const path of [OPEN, '/api/v1/c/x']) {
    const headers = { authorization: `bearer ${token}` }
    await passing.call({ path: `${path}?token=${token}`, headers })
    t.match(last(fixture), { url: `${path}?token=${token}`, headers })
  }
})
