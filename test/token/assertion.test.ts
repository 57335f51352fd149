import { createHash, createPublicKey, verify } from 'node:crypto'
import { createLocalJWKSet, jwtVerify } from 'jose'
import t from 'tap'
import { createAssertionSigner } from '../../src/token/assertion.ts'
import { newKeyPair } from '../support/key-pair.ts'

const keyPair = () => newKeyPair('ES256')
const NOW = Math.floor(Date.now() / 1000)
const USER = { sub: '42', aud: 'orders', login_type: 'BUSINESS', username: '王芳', roles: ['ops', 'a,b'] }

const decoded = (part = ''): any => JSON.parse(Buffer.from(part, 'base64url').toString())

t.test('an assertion says who the user is, for whom, by whom and for how long', async t => {
  const signer = await createAssertionSigner('gate', keyPair().privateKey, null)
  const [header, claims] = (await signer.sign(USER, NOW, 60)).split('.')
  t.same(decoded(header), { alg: 'ES256', typ: 'JWT', kid: signer.keys.keys[0]!.kid })
  const { jti, ...rest } = decoded(claims)
  t.same(rest, { ...USER, iss: 'gate', iat: NOW, nbf: NOW, exp: NOW + 60 })
  t.match(jti, /^[0-9a-f-]{36}$/)
  t.not(decoded((await signer.sign(USER, NOW, 60)).split('.')[1]).jti, jti, 'each has an id of its own')
})

t.test('its signature verifies by the public key, with Node alone and by the key set', async t => {
  const { privateKey } = keyPair()
  const signer = await createAssertionSigner('gate', privateKey, null)
  const text = await signer.sign(USER, NOW, 60)
  const [header, claims, signature = ''] = text.split('.')
  const key = { key: createPublicKey({ key: signer.keys.keys[0]!, format: 'jwk' }), dsaEncoding: 'ieee-p1363' } as const
  t.ok(verify('sha256', Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url')))
  const expected = { issuer: 'gate', audience: 'orders', algorithms: ['ES256'] }
  const { payload } = await jwtVerify(text, createLocalJWKSet(signer.keys), expected)
  t.equal(payload.sub, '42')
  await t.rejects(jwtVerify(text, createLocalJWKSet(signer.keys), { ...expected, audience: 'billing' }))
})

t.test('the key set holds public parts only, each with its thumbprint as its id', async t => {
  const [current, other] = [keyPair(), keyPair()]
  const { keys } = (await createAssertionSigner('gate', current.privateKey, other.publicKey)).keys
  t.equal(keys.length, 2)
  for (const key of keys) {
    t.same(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    const { crv, kty, x, y } = key
    const thumbprint = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
    t.same([key.kid, key.alg, key.use], [thumbprint, 'ES256', 'sig'], 'RFC 7638')
  }
  const again = await createAssertionSigner('another', current.privateKey, other.privateKey)
  t.same(again.keys.keys, keys, 'a gateway with the same keys publishes the same; of a private key nothing private')
})
