import { exportJWK } from 'jose'
import t from 'tap'
import { type Answer, json, newKey, SUBJECT, signedBy } from '../support/hostile-provider.ts'
import { newKeyPair } from '../support/key-pair.ts'
import { KEY, openHostile } from './hostile-fixture.ts'

const MINUTE = 60_000
const HOUR = 3_600_000
const SECOND_CHANCE = 1000
const SECOND = await newKey('ES256', 'second')
const NAMELESS = await newKey('ES256')
const { kid: _, ...withoutKid } = KEY

const failing: Answer = (_, response) => json(response, {}, 503)

t.test('a token without kid is verified by the one key that fits it (KidAbsent)', async t => {
  const { hostile, signIn } = await openHostile(t, {}, NAMELESS)
  t.match(await signIn(), { sub: SUBJECT })
  hostile.sign = signedBy(withoutKid)
  hostile.keys = [KEY.jwk, (await newKey('RS256', 'rsa')).jwk, { ...SECOND.jwk, use: 'enc' }]
  t.match(await signIn(), { sub: SUBJECT })
})

t.test('a token without kid is refused where several keys fit it (KidAbsent)', async t => {
  const { hostile, refuses } = await openHostile(t)
  hostile.sign = signedBy(withoutKid)
  hostile.keys = [KEY.jwk, SECOND.jwk]
  await refuses('token-key')
})

t.test('keys that are not usable are ignored (IgnoresUnparseableKeyInJwks)', async t => {
  const { hostile, signIn } = await openHostile(t)
  const nonsense = [
    null,
    'text',
    7,
    [],
    {},
    { kty: 'RSA', n: '!', e: 'AQAB' },
    { kty: 'EC', crv: 'P-999', x: 'a', y: 'b' },
  ]
  const named = nonsense.map(key => (typeof key === 'object' && key !== null ? { ...key, kid: 'first' } : key))
  hostile.keys = [...named, { kty: 'oct', k: 'c2VjcmV0', kid: 'first', alg: 'ES256' }, KEY.jwk, ...nonsense]
  t.match(await signIn(), { sub: SUBJECT })
})

t.test('a JWKS without a usable key is reported: weak, shared and private keys are not usable', async t => {
  const { privateKey, publicKey } = newKeyPair('RS256', { modulusLength: 1024 })
  for (const key of [
    await exportJWK(publicKey),
    await exportJWK(privateKey),
    await exportJWK(KEY.privateKey),
    { kty: 'oct', k: 'c2VjcmV0' },
  ]) {
    const { hostile, provider, refuses } = await openHostile(t)
    hostile.keys = [{ ...key, kid: 'first' }]
    await refuses('token-key', provider.reach())
    await refuses('token-key')
  }
})

t.test('a provider that signs by no listed algorithm is reported', async t => {
  const { provider } = await openHostile(t)
  t.same(await provider.reach(), { endSession: true, backChannel: true })
  const other = await openHostile(t)
  other.hostile.metadata.id_token_signing_alg_values_supported = ['HS256', 'none']
  t.match(await other.refuses('token-algorithm', other.provider.reach()), { detail: /HS256, none/ })
})

t.test('a new key is known as soon as a token names it (SigningKeyRotation)', async t => {
  const { hostile, signIn } = await openHostile(t)
  await signIn()
  hostile.keys = [KEY.jwk, SECOND.jwk]
  hostile.sign = signedBy(SECOND)
  t.match(await signIn(), { sub: SUBJECT })
  hostile.sign = signedBy(KEY)
  t.match(await signIn(), { sub: SUBJECT })
  t.equal(hostile.count('jwks'), 2)
})

t.test('a new key is known that replaces the old one just before the signature (SigningKeyRotation)', async t => {
  const { hostile, provider, signIn } = await openHostile(t)
  await provider.reach()
  hostile.sign = claims => {
    hostile.keys = [SECOND.jwk]
    return signedBy(SECOND)(claims)
  }
  t.match(await signIn(), { sub: SUBJECT })
})

t.test('a new key is known that has the name of the old one, or no name (SigningKeyRotation)', async t => {
  for (const kid of ['first', undefined]) {
    const { hostile, signIn } = await openHostile(t, {}, kid === undefined ? NAMELESS : KEY)
    await signIn()
    const next = await newKey('ES256', kid)
    hostile.keys = [next.jwk]
    hostile.sign = signedBy(next)
    t.match(await signIn(), { sub: SUBJECT })
  }
})

t.test('unknown keys cause a request at once, and then one a minute at most', async t => {
  const { hostile, clock, refuses, signIn } = await openHostile(t)
  await signIn()
  hostile.sign = signedBy({ ...SECOND, kid: 'unknown' })
  await refuses('token-key')
  t.equal(hostile.count('jwks'), 2)
  await refuses('token-key')
  clock.time += MINUTE - 1
  await refuses('token-key')
  t.equal(hostile.count('jwks'), 2)
  clock.time += 1
  await refuses('token-key')
  t.equal(hostile.count('jwks'), 3)
  clock.time += MINUTE
  await Promise.all([1, 2, 3, 4].map(() => refuses('token-key')))
  t.equal(hostile.count('jwks'), 4)
})

t.test('known keys stay in use while the JWKS is down, and an unknown one makes the provider unavailable', async t => {
  const { hostile, clock, lines, isUnavailable, signIn } = await openHostile(t)
  await signIn()
  hostile.answers.jwks = failing
  clock.time += HOUR
  t.match(await signIn(), { sub: SUBJECT })
  t.match(lines.join(), /"provider":"staff".*status 503.*the last keys of the provider stay in use/)
  t.equal(hostile.count('jwks'), 2)
  await signIn()
  t.equal(hostile.count('jwks'), 2)
  hostile.sign = signedBy(SECOND)
  for (const _ of [1, 2]) t.match(await isUnavailable(), /status 503/)
  t.equal(hostile.count('jwks'), 3)
  hostile.answers = {}
  hostile.keys = [SECOND.jwk]
  clock.time += MINUTE
  t.match(await signIn(), { sub: SUBJECT })
})

t.test('a withdrawn key ends after an hour', async t => {
  const { hostile, clock, refuses, signIn } = await openHostile(t)
  await signIn()
  hostile.keys = [SECOND.jwk]
  clock.time += HOUR - 1
  t.match(await signIn(), { sub: SUBJECT })
  clock.time += 1
  await refuses('token-key')
})

t.test('a provider is unavailable as long as its keys were never fetched', async t => {
  const { hostile, clock, isUnavailable, signIn } = await openHostile(t)
  hostile.answers.jwks = failing
  await isUnavailable()
  await isUnavailable()
  hostile.answers = {}
  clock.time += SECOND_CHANCE
  t.match(await signIn(), { sub: SUBJECT })
})

t.test('without keys, tokens cause one request a second', async t => {
  for (const down of ['jwks', 'discovery'] as const) {
    const { hostile, clock, provider, isUnavailable, refuses } = await openHostile(t)
    hostile.answers[down] = failing
    const send = () => isUnavailable(provider.logoutNotice('no token'))
    for (let i = 0; i < 5; i++) t.match(await send(), /status 503/)
    t.equal(hostile.count(down), 1, down)
    clock.time += SECOND_CHANCE - 1
    await send()
    t.equal(hostile.count(down), 1, down)
    clock.time += 1
    await Promise.all([1, 2, 3, 4].map(send))
    t.equal(hostile.count(down), 2, down)
    hostile.answers = {}
    clock.time += SECOND_CHANCE
    await refuses('token-form', provider.logoutNotice('no token'))
  }
})
