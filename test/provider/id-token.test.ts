import t from 'tap'
import { ACCESS_TOKEN, createSigningKey, symmetric, unsigned } from '../support/hostile-provider.ts'
import { halfHash, outcomeOf, outcomeWith, startHostile } from './hostile-fixture.ts'
import { CLIENT } from './provider-fixture.ts'

/*
 * The cases of the OpenID Foundation's plan for relying parties, by their names there, with a provider that is right but for one
 * thing.
 */

t.test('an ID token of a provider that is right is accepted', async t => {
  t.equal(await outcomeWith(t, () => undefined), 'accepted')
})

t.test('IdTokenSigAlgNone: an ID token without a signature is refused', async t => {
  const claimsOf = (issuer: string, nonce: unknown, now: number) => {
    const iat = Math.floor(now / 1000)
    return { iss: issuer, aud: CLIENT.client_id, sub: 'ada', iat, exp: iat + 300, nonce }
  }
  const outcome = (alg: string, signature = '') =>
    outcomeWith(t, hostile => {
      hostile.token = async ({ nonce }) => unsigned({ alg }, claimsOf(hostile.issuer, nonce, hostile.now), signature)
    })
  t.equal(await outcome('none'), 'token-algorithm')
  t.equal(await outcome('None'), 'token-algorithm')
  t.equal(await outcome('ES256'), 'token-signature')
})

t.test('InvalidIdTokenSignature: a signature by another key, or of other claims, is refused', async t => {
  for (const alg of ['RS256', 'ES256', 'PS256']) {
    const [key, other] = [await createSigningKey(alg), await createSigningKey(alg)]
    const outcome = await outcomeWith(t, hostile => {
      Object.assign(hostile, { key, keys: [key.jwk] })
      hostile.token = claims => hostile.signed(claims, { key: other })
    })
    t.equal(outcome, 'token-signature', alg)
  }
  const changed = await outcomeWith(t, hostile => {
    hostile.token = async claims => {
      const [header, , signature] = (await hostile.signed(claims)).split('.')
      const [, content] = (await hostile.signed({ ...claims, sub: 'eve' })).split('.')
      return `${header}.${content}.${signature}`
    }
  })
  t.equal(changed, 'token-signature')
})

t.test('InvalidIdTokenSignature: the secret of the client and a public key sign nothing', async t => {
  const bySecret = await outcomeWith(t, hostile => {
    hostile.token = claims => symmetric({ ...claims, iss: hostile.issuer }, CLIENT.client_secret)
  })
  t.equal(bySecret, 'token-algorithm')
  const byPublicKey = await outcomeWith(t, hostile => {
    const { kid, jwk } = hostile.key
    hostile.token = claims => symmetric({ ...claims, iss: hostile.issuer }, JSON.stringify(jwk), { kid })
  })
  t.equal(byPublicKey, 'token-algorithm')
})

t.test('an algorithm that the settings do not list is refused, whatever the provider offers', async t => {
  t.equal(await outcomeWith(t, () => undefined, { algorithms: ['RS256'] }), 'token-algorithm')
})

t.test('InvalidAud, InvalidIss, InvalidSub, InvalidIat and MissingX: each claim has its own reason', async t => {
  const second = (now: number, seconds: number): number => Math.floor(now / 1000) + seconds
  const cases: [claims: (now: number) => Record<string, unknown>, expected: string][] = [
    [() => ({ iss: 'https://elsewhere.example.com' }), 'token-issuer'],
    [() => ({ iss: undefined }), 'token-issuer'],
    [() => ({ aud: 'another-client' }), 'token-audience'],
    [() => ({ aud: ['another-client'] }), 'token-audience'],
    [() => ({ aud: undefined }), 'token-audience'],
    [() => ({ aud: [CLIENT.client_id, 'another-client'] }), 'token-azp'],
    [() => ({ aud: [CLIENT.client_id, 'another-client'], azp: 'another-client' }), 'token-azp'],
    [() => ({ aud: [CLIENT.client_id, 'another-client'], azp: CLIENT.client_id }), 'accepted'],
    [() => ({ azp: 'another-client' }), 'token-azp'],
    [() => ({ sub: undefined }), 'token-subject'],
    [() => ({ sub: '' }), 'token-subject'],
    [() => ({ sub: 17 }), 'token-subject'],
    [() => ({ sub: 'x'.repeat(256) }), 'token-subject'],
    // Written as UTF-8 all of these become one.
    [() => ({ sub: 'a\ud800' }), 'token-subject'],
    [() => ({ sid: 17 }), 'token-session'],
    [() => ({ iat: undefined }), 'token-issued-at'],
    [() => ({ iat: 'now' }), 'token-issued-at'],
    [now => ({ iat: second(now, 60) }), 'token-issued-at'],
    [now => ({ iat: second(now, 29) }), 'accepted'],
    [() => ({ exp: undefined }), 'token-expired'],
    [() => ({ exp: 'later' }), 'token-expired'],
    [now => ({ exp: second(now, -31) }), 'token-expired'],
    [now => ({ exp: second(now, -28) }), 'accepted'],
    [now => ({ nbf: second(now, 60) }), 'token-early'],
    [now => ({ nbf: second(now, 29) }), 'accepted'],
  ]
  for (const [claims, expected] of cases) {
    const outcome = await outcomeWith(t, hostile => void Object.assign(hostile.claims, claims(hostile.now)))
    t.equal(outcome, expected, JSON.stringify(claims(0)))
  }
})

t.test('the times of a token count by the clock of the gateway', async t => {
  const all = await startHostile(t)
  const token = await all.hostile.signed(all.hostile.claims)
  all.hostile.token = async () => token
  t.equal(await outcomeOf(all.prove(), all), 'accepted')
  all.hostile.now += 331_000
  t.equal(await outcomeOf(all.prove(), all), 'token-expired')
  all.hostile.now -= 400_000
  t.equal(await outcomeOf(all.prove(), all), 'token-issued-at')
})

t.test('NonceInvalid: an ID token of another sign-in, or of none, is refused', async t => {
  for (const nonce of ['of another sign-in', undefined, '', 17])
    t.equal(await outcomeWith(t, hostile => void Object.assign(hostile.claims, { nonce })), 'token-nonce', `${nonce}`)
})

t.test('InvalidAtHash: an ID token of another access token is refused', async t => {
  const outcome = (at_hash: unknown) => outcomeWith(t, hostile => void Object.assign(hostile.claims, { at_hash }))
  t.equal(await outcome(halfHash(ACCESS_TOKEN)), 'accepted')
  t.equal(await outcome(halfHash('another access token')), 'token-at-hash')
  t.equal(await outcome(17), 'token-at-hash')
})

t.test(
  'KidAbsent: a token without a key id is accepted if the provider has one key, and refused if it has several',
  async t => {
    const key = await createSigningKey('ES256', null)
    const one = await outcomeWith(t, hostile => void Object.assign(hostile, { key, keys: [key.jwk] }))
    t.equal(one, 'accepted')
    const { jwk } = await createSigningKey('ES256', 'another')
    const several = await outcomeWith(t, hostile => void Object.assign(hostile, { key, keys: [key.jwk, jwk] }))
    t.equal(several, 'token-key')
  },
)

t.test('a token in another form, or none, is refused', async t => {
  for (const [token, expected] of [
    [undefined, 'token-missing'],
    [null, 'token-missing'],
    [{}, 'token-missing'],
    ['', 'token-form'],
    ['a.b.c', 'token-form'],
    ['a.b.c.d.e', 'token-form'],
    [`${'a'.repeat(70_000)}.b.c`, 'token-form'],
  ] as const) {
    const outcome = await outcomeWith(t, hostile => {
      hostile.token = async () => token
    })
    t.equal(outcome, expected, String(token).slice(0, 20))
  }
})

t.test('a required class of authentication must be named by the token', async t => {
  const outcome = (acr: unknown) =>
    outcomeWith(t, hostile => void Object.assign(hostile.claims, { acr }), { acr: ['phr', 'phrh'] })
  t.equal(await outcome('phrh'), 'accepted')
  for (const acr of ['pwd', undefined, ['phr']]) t.equal(await outcome(acr), 'acr', `${acr}`)
})
