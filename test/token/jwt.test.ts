import { createHmac } from 'node:crypto'
import t from 'tap'
import { createSigner } from '../../src/http/jwt.ts'
import type { Token } from '../../src/token/bearer.ts'
import { createJwt, type JwtAlgorithm } from '../../src/token/jwt.ts'
import { clockOf } from '../support/clock.ts'

const SECRET = '0123456789abcdef0123456789abcdef'
const NOW = Date.now()
const IAT = Math.floor(NOW / 1000)

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

function forge(header: unknown, payload: unknown, hash = 'sha256', secret: string = SECRET): string {
  const input = `${encode(header)}.${encode(payload)}`
  return `${input}.${createHmac(hash, secret).update(input).digest('base64url')}`
}

async function openJwt(algorithm: JwtAlgorithm = 'HS256') {
  const signer = await createSigner({ secret_key: SECRET, algorithm })
  return createJwt(
    signer,
    algorithm,
    clockOf(() => NOW),
  )
}

const claims = { jti: 'x', iat: IAT }
const good = { alg: 'HS256', typ: 'JWT' }
const deep = JSON.parse(`${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`)

t.test('an issued token has exactly jti and iat, and reads back', async t => {
  for (const algorithm of ['HS256', 'HS384', 'HS512'] as const) {
    const jwt = await openJwt(algorithm)
    const token = jwt.issue()
    const [header, payload] = token
      .split('.')
      .slice(0, 2)
      .map(part => JSON.parse(Buffer.from(part, 'base64url').toString()))
    t.same(header, { alg: algorithm, typ: 'JWT' })
    t.same(Object.keys(payload).sort(), ['iat', 'jti'])
    t.equal(payload.iat, IAT)
    t.match(payload.jti, /^[0-9a-f]{12}[\w-]{22}$/, 'the timestamp, and 128 random bits')
    t.same(jwt.read(token), payload)
    t.same(jwt.read(token), payload, 'also when it is read again')
    t.not(jwt.issue(), token)
  }
})

t.test('a token that another program signed with the same secret is read', async t => {
  const jwt = await openJwt()
  t.same(jwt.read(forge(good, claims) as Token), claims)
  t.same(jwt.read(forge({ alg: 'HS256' }, { ...claims, sub: 'x' }) as Token), claims)
})

t.test('the signature of a token on public paths is verified once, and its claims when they are needed', async t => {
  const signer = await createSigner({ secret_key: SECRET, algorithm: 'HS256' })
  let verified = 0
  const isSigned = (token: Token): boolean => {
    verified++
    return signer.isSigned(token)
  }
  const jwt = createJwt(
    { ...signer, isSigned },
    'HS256',
    clockOf(() => NOW),
  )
  const ours = forge(good, claims) as Token
  const unreadable = forge(good, { sub: 'without an id' }) as Token
  const foreign = forge(good, claims, 'sha256', `${SECRET}!`) as Token
  for (let i = 0; i < 3; i++) t.same([ours, unreadable, foreign].map(jwt.isSigned), [true, true, false])
  t.equal(verified, 5, 'once for each of ours, every time for the other')
  t.same([ours, unreadable, foreign].map(jwt.read), [claims, null, null], 'a signature alone is no session')
  t.same([ours, unreadable, foreign].map(jwt.isSigned), [true, true, false])
})

t.test('a signature is ours whatever the token claims, and whatever its header says', async t => {
  const OURS: [claims: object, header?: object][] = [
    [claims],
    [{ ...claims, iat: IAT + 4000 }],
    [{ ...claims, exp: IAT - 4000 }],
    [{ ...claims, nbf: IAT + 4000 }],
    [{ sub: 'without an id' }],
    [claims, { ...good, kid: 'x' }],
  ]
  const hashes = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' } as const
  for (const algorithm of ['HS256', 'HS384', 'HS512'] as const) {
    const jwt = await openJwt(algorithm)
    const token = jwt.issue()
    t.equal(jwt.isSigned(token), true, 'as it was issued')
    jwt.read(token)
    t.equal(jwt.isSigned(token), true, 'also when it was read before')
    t.equal(jwt.isSigned(token.slice(0, -2) as Token), false, 'a signature that is cut')
    t.equal(jwt.isSigned(`${token}AAAA` as Token), false, 'a signature that goes on')
    for (const [payload, header = good] of OURS) {
      const words = `${algorithm} ${JSON.stringify({ header, payload })}`
      t.equal(jwt.isSigned(forge(header, payload, hashes[algorithm]) as Token), true, words)
      t.equal(jwt.isSigned(forge(header, payload, hashes[algorithm], `${SECRET}!`) as Token), false, words)
    }
  }
})

const REFUSED: [name: string, token: string][] = [
  ['alg none', `${encode({ alg: 'none' })}.${encode(claims)}.AA`],
  ['alg None', forge({ alg: 'None' }, claims)],
  ['alg RS256', forge({ alg: 'RS256' }, claims)],
  ['alg HS384 with the same secret', forge({ alg: 'HS384' }, claims, 'sha384')],
  ['alg missing', forge({ typ: 'JWT' }, claims)],
  ['alg as an array', forge({ alg: ['HS256'] }, claims)],
  ['a crit header', forge({ ...good, crit: ['exp'] }, claims)],
  ['b64 false', forge({ ...good, b64: false }, claims)],
  ['a kid header', forge({ ...good, kid: '../../key' }, claims)],
  ['a jku header', forge({ ...good, jku: 'http://evil.example' }, claims)],
  ['a jwk header', forge({ ...good, jwk: { kty: 'oct' } }, claims)],
  ['typ at+jwt', forge({ alg: 'HS256', typ: 'at+jwt' }, claims)],
  ['a header that is an array', forge([], claims)],
  ['a header that is no JSON', forge('x', claims)],
  ['a payload array', forge(good, [claims])],
  ['a payload string', forge(good, '"x"')],
  ['a payload number', forge(good, '12')],
  ['a payload null', forge(good, 'null')],
  ['a payload that is no JSON', forge(good, '{')],
  ['jti missing', forge(good, { iat: IAT })],
  ['jti a number', forge(good, { jti: 12, iat: IAT })],
  ['jti empty', forge(good, { jti: '', iat: IAT })],
  ['iat missing', forge(good, { jti: 'x' })],
  ['iat a string', forge(good, { jti: 'x', iat: String(IAT) })],
  ['iat null', forge(good, { jti: 'x', iat: null })],
  ['iat far in the future', forge(good, { jti: 'x', iat: IAT + 3600 })],
  ['iat infinite', forge(good, '{"jti":"x","iat":1e400}')],
  ['a payload 1000 levels deep', forge(good, { ...claims, deep })],
  ['another secret', forge(good, claims, 'sha256', 'fedcba9876543210fedcba9876543210')],
  ['an expired exp', forge(good, { ...claims, exp: IAT - 10 })],
]

for (const [name, token] of REFUSED) {
  t.test(`a token with ${name} is not one of ours`, async t => {
    const jwt = await openJwt()
    t.equal(jwt.read(token as Token), null)
  })
}

t.test('the same bytes written as another string are another token', async t => {
  const jwt = await openJwt()
  const token = jwt.issue()
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(token.at(-1)!)
  const twin = token.slice(0, -1) + alphabet[last ^ 1]
  t.same(Buffer.from(twin.split('.')[2]!, 'base64url'), Buffer.from(token.split('.')[2]!, 'base64url'))
  t.equal(jwt.read(twin as Token), null)
})
