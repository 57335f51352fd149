import { createHmac } from 'node:crypto'
import t from 'tap'
import type { LoginType } from '../../src/session/sides.ts'
import { type Fixture, openFixture } from '../support/gateway-fixture.ts'
import { withoutRedis } from '../support/redis-server.ts'

/*
 * Invalid tokens, each with a live record: whatever else an attacker achieved, the signature and the form stand alone.
 * `test/token/` has the same forms for the reader of tokens by itself.
 */

const SECRET = 'fb9e2d3f6a1c4c0e8f7a5b6d7c8e9f00'
const USER = 'somebody'

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

function sign(header: unknown, payload: unknown, hash = 'sha256', secret = SECRET): string {
  const input = `${encode(header)}.${encode(payload)}`
  return `${input}.${createHmac(hash, secret).update(input).digest('base64url')}`
}

/** Signed as it stands: only the form is not that of a token. */
const signText = (input: string): string => `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`

const HEADER = { alg: 'HS256', typ: 'JWT' }
const now = Math.floor(Date.now() / 1000)
const CLAIMS = { jti: 'a-token-of-these-tests', iat: now }
const GOOD = sign(HEADER, CLAIMS)
const [HEAD, PAYLOAD, SIGNATURE] = GOOD.split('.') as [string, string, string]
const DEEP = `{"jti":"x","iat":${now},"a":${'['.repeat(1000)}${']'.repeat(1000)}}`

/** Claims that need padding, and in which standard base64 differs. */
const IN_BASE64 = JSON.stringify({ jti: 'a?b~c>d', iat: now })

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** The same bytes as another string: the last character has bits to spare. */
const TWIN = GOOD.slice(0, -1) + ALPHABET[ALPHABET.indexOf(GOOD.at(-1)!) ^ 1]

const TOKENS: Readonly<Record<string, string>> = {
  'alg none and no signature': `${encode({ alg: 'none' })}.${PAYLOAD}.`,
  'alg none and a signature': `${encode({ alg: 'none' })}.${PAYLOAD}.${SIGNATURE}`,
  'alg None': sign({ alg: 'None' }, CLAIMS),
  'alg NONE': sign({ alg: 'NONE' }, CLAIMS),
  'alg RS256': sign({ alg: 'RS256' }, CLAIMS),
  'alg hs256': sign({ alg: 'hs256' }, CLAIMS),
  'alg HS384 with the same secret': sign({ alg: 'HS384' }, CLAIMS, 'sha384'),
  'alg HS512 with the same secret': sign({ alg: 'HS512' }, CLAIMS, 'sha512'),
  'no alg': sign({ typ: 'JWT' }, CLAIMS),
  'alg as an array': sign({ alg: ['HS256'] }, CLAIMS),
  'alg as an object': sign({ alg: { toString: 'HS256' } }, CLAIMS),
  crit: sign({ ...HEADER, crit: ['exp'] }, CLAIMS),
  'b64 false': sign({ ...HEADER, b64: false, crit: ['b64'] }, CLAIMS),
  'a key named by kid': sign({ ...HEADER, kid: '../../../../dev/null' }, CLAIMS),
  'a key named by jku': sign({ ...HEADER, jku: 'http://127.0.0.1:1/keys' }, CLAIMS),
  'a key named by x5u': sign({ ...HEADER, x5u: 'http://127.0.0.1:1/cert' }, CLAIMS),
  'a key brought along as jwk': sign({ ...HEADER, jwk: { kty: 'oct', k: encode('k') } }, CLAIMS, 'sha256', 'k'),
  'a compressed payload': sign({ ...HEADER, zip: 'DEF' }, CLAIMS),
  'an array as header': sign([HEADER], CLAIMS),
  'null as header': sign('null', CLAIMS),
  'no JSON as header': sign('{"alg":', CLAIMS),
  padding: `${GOOD}=`,
  'padding in the middle': `${HEAD}=.${PAYLOAD}.${SIGNATURE}`,
  'standard base64': `${HEAD}.${PAYLOAD}.+${SIGNATURE.slice(1)}`,
  'standard base64, signed as it is': signText(
    `${HEAD}.${Buffer.from(IN_BASE64).toString('base64').replace(/=+$/, '')}`,
  ),
  'padding, signed as it is': signText(`${HEAD}.${encode(IN_BASE64)}==`),
  'a space within, signed as it is': signText(`${HEAD}.${PAYLOAD.slice(0, 8)} ${PAYLOAD.slice(8)}`),
  'two parts': `${HEAD}.${PAYLOAD}`,
  'four parts': `${GOOD}.${SIGNATURE}`,
  'five parts, as encrypted tokens have': `${encode({ alg: 'dir', enc: 'A128GCM' })}..${PAYLOAD}.${SIGNATURE}.AA`,
  'an empty payload': `${HEAD}..${SIGNATURE}`,
  'an empty signature': `${HEAD}.${PAYLOAD}.`,
  'a signature that is cut': GOOD.slice(0, -4),
  'a signature that goes on': `${GOOD}AAAA`,
  'the same bytes as another string': TWIN,
  'another secret': sign(HEADER, CLAIMS, 'sha256', `${SECRET}!`),
  'an empty secret': sign(HEADER, CLAIMS, 'sha256', ''),
  'a payload that is an array': sign(HEADER, [CLAIMS]),
  'a payload that is a string': sign(HEADER, '"x"'),
  'a payload that is a number': sign(HEADER, '12'),
  'a payload that is null': sign(HEADER, 'null'),
  'a payload that is not JSON': sign(HEADER, '{'),
  'a payload 1000 levels deep': sign(HEADER, DEEP),
  'no jti': sign(HEADER, { iat: now }),
  'a jti that is a number': sign(HEADER, { jti: 12, iat: now }),
  'a jti that is an object': sign(HEADER, { jti: { toString: 'x' }, iat: now }),
  'an empty jti': sign(HEADER, { jti: '', iat: now }),
  'a jti of 2000 characters': sign(HEADER, { jti: 'x'.repeat(2000), iat: now }),
  'no iat': sign(HEADER, { jti: 'x' }),
  'an iat that is a string': sign(HEADER, { jti: 'x', iat: String(now) }),
  'an iat that is null': sign(HEADER, { jti: 'x', iat: null }),
  'an iat that is infinite': sign(HEADER, '{"jti":"x","iat":1e400}'),
  'an iat before all time': sign(HEADER, { jti: 'x', iat: -1 }),
  'an iat far in the future': sign(HEADER, { jti: 'x', iat: now + 86_400 }),
  'claims on __proto__ only': sign(HEADER, `{"__proto__":{"jti":"x","iat":${now}}}`),
  'more than 4 KiB': sign(HEADER, { ...CLAIMS, a: 'x'.repeat(4096) }),
  'a megabyte of dots': '.'.repeat(8000),
}

/** Values of the header in which a good token is not alone. */
const VALUES: Readonly<Record<string, string>> = {
  'two spaces behind Bearer': `Bearer  ${GOOD}`,
  'a tab behind Bearer': `Bearer\t${GOOD}`,
  'Bearer twice': `Bearer Bearer ${GOOD}`,
  'a list of two': `Bearer ${GOOD}, Bearer ${GOOD}`,
  'a list of itself and nothing': `Bearer ${GOOD},`,
  quotes: `Bearer "${GOOD}"`,
  'a parameter': `Bearer ${GOOD}; realm=x`,
  'another scheme': `Basic ${GOOD}`,
  'another scheme, then Bearer': `Basic x, Bearer ${GOOD}`,
  'no space': `Bearer${GOOD}`,
  'a colon': `Bearer: ${GOOD}`,
  'an equals sign': `Bearer=${GOOD}`,
  'nothing but Bearer': 'Bearer',
  'text of another alphabet': `Bearer ${GOOD}\xe9`,
}

const ROUTES: Readonly<Record<LoginType, [path: string, side: 'business' | 'consumer']>> = {
  BUSINESS: ['/api/v1/b/x', 'business'],
  CONSUMER: ['/api/v1/c/x', 'consumer'],
}

async function keepRecord(fixture: Fixture, type: LoginType, token: string): Promise<void> {
  // LMDB has no keys of any length; a token that is too long for one can have no record.
  if (token.length > 1500) return
  const record = { user_id: USER, type, created_at: '2026-01-01 00:00:00', extra: {} }
  await fixture.store.sessions.add(type, token, record, Date.now() + 600_000)
}

t.test('on both sides', async t => {
  const fixture = await openFixture(t, { environment: { JWT__SECRET_KEY: SECRET } })

  async function refuses(type: LoginType, value: string, name: string): Promise<void> {
    const [path] = ROUTES[type]
    const answer = await fixture.call({ path, headers: { authorization: Buffer.from(value).toString('latin1') } })
    t.equal(answer.status, 200, name)
    t.match(answer.json(), { code: 401, success: false, data: null }, name)
  }

  for (const type of ['BUSINESS', 'CONSUMER'] as const) {
    const [path, side] = ROUTES[type]
    await t.test(`${type}: a valid token is accepted`, async t => {
      await keepRecord(fixture, type, GOOD)
      for (const scheme of ['Bearer ', 'bearer ', 'BEARER ', '']) {
        t.equal((await fixture.call({ path, headers: { authorization: scheme + GOOD } })).status, 200)
      }
      t.equal((await fixture.operate(side, 'get-login-id-by-token', { token: GOOD })).data.user_id, USER)
      fixture.upstream.requests.length = 0
    })

    for (const [name, token] of Object.entries(TOKENS)) {
      await t.test(`${type}: a token with ${name} is refused, although it has a record`, async t => {
        await keepRecord(fixture, type, token)
        await refuses(type, `Bearer ${token}`, 'with Bearer')
        await refuses(type, token, 'by itself')
        t.same((await fixture.operate(side, 'is-login', { token })).data, { is_login: false })
        t.same((await fixture.operate(side, 'get-login-id-by-token', { token })).data, { user_id: '' })
        t.match(await fixture.operate(side, 'renew-timeout', { token, seconds: 60 }), { code: 401, success: false })
      })
    }

    for (const [name, value] of Object.entries(VALUES)) {
      await t.test(`${type}: a header with ${name} holds no token`, async () => {
        await refuses(type, value, name)
      })
    }
  }

  t.equal(fixture.upstream.requests.length, 0, 'none of it arrived')
  t.notOk(
    fixture.log.some(line => line.includes('internal fault')),
    'none of it is a fault of the gateway',
  )
})

for (const store of ['embedded', 'redis'] as const) {
  const skip = store === 'redis' && withoutRedis
  t.test(`a token of one side is invalid on the other, also for the same user, ${store} store`, { skip }, async t => {
    const fixture = await openFixture(t, { store })
    const { business, consumer } = fixture.gateway.sides
    const b = await business.login(undefined, USER)
    const c = await consumer.login(undefined, USER)
    // Before, between and after both were found on their own sides: what is remembered is remembered by side.
    for (let i = 0; i < 3; i++) {
      t.match((await fixture.get('/api/v1/c/x', b)).json(), { code: 401 })
      t.match((await fixture.get('/api/v1/b/x', c)).json(), { code: 401 })
      t.equal(fixture.upstream.requests.length, 2 * i)
      t.equal((await fixture.get('/api/v1/c/x', c)).status, 200)
      t.equal((await fixture.get('/api/v1/b/x', b)).status, 200)
    }
    for (const [side, token] of [
      ['business', c],
      ['consumer', b],
    ] as const) {
      t.match(await fixture.operate(side, 'logout', { token }), { code: 200 })
      t.match(await fixture.operate(side, 'kickout-token', { user_id: USER, token }), { code: 400 })
    }
    t.equal((await fixture.get('/api/v1/c/x', c)).status, 200, 'neither side ends what is the other’s')
    t.equal((await fixture.get('/api/v1/b/x', b)).status, 200)
  })
}

t.test('a key that a token names is not fetched', async t => {
  const fixture = await openFixture(t, { environment: { JWT__SECRET_KEY: SECRET } })
  const key = { kty: 'oct', k: encode('k'), alg: 'HS256', kid: 'k' }
  fixture.upstream.answer = (_request, response) => void response.end(JSON.stringify({ keys: [key], ...key }))
  for (const name of ['jku', 'x5u', 'kid', 'iss']) {
    const token = sign({ ...HEADER, kid: 'k', [name]: `${fixture.upstream.url}/keys` }, CLAIMS, 'sha256', 'k')
    for (const path of ['/api/v1/b/x', '/api/v1/c/x']) t.match((await fixture.get(path, token)).json(), { code: 401 })
  }
  t.same(fixture.upstream.requests, [])
})

t.test('the signature is verified before the store is queried', { skip: withoutRedis }, async t => {
  const fixture = await openFixture(t, { store: 'redis', environment: { JWT__SECRET_KEY: SECRET } })
  const [b, c] = ['/api/v1/b/x', '/api/v1/c/x']
  await fixture.redis!.kill()
  for (const path of [b, c]) {
    t.equal((await fixture.get(path, GOOD)).status, 503, 'only the store could tell about a good one')
    for (const token of Object.values(TOKENS)) t.equal((await fixture.get(path, token)).json().code, 401)
  }
})
