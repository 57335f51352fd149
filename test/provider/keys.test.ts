import t from 'tap'
import { createSigningKey, json } from '../support/hostile-provider.ts'
import { outcomeOf, outcomeWith, startHostile } from './hostile-fixture.ts'

const FETCH = 'GET /keys'
const MINUTE = 60_000
const HOUR = 3_600_000

t.test(
  'SigningKeyRotation: a token of a new key is accepted at once, before and after the old key is gone',
  async t => {
    const all = await startHostile(t)
    const { hostile } = all
    t.equal(await outcomeOf(all.prove(), all), 'accepted')
    const old = hostile.key
    hostile.key = await createSigningKey('RS256', 'two')
    hostile.keys = [old.jwk, hostile.key.jwk]
    t.equal(await outcomeOf(all.prove(), all), 'accepted')
    hostile.now += MINUTE
    hostile.key = await createSigningKey('ES256', 'three')
    hostile.keys = [hostile.key.jwk]
    t.equal(await outcomeOf(all.prove(), all), 'accepted')
    hostile.token = claims => hostile.signed(claims, { key: old })
    t.equal(await outcomeOf(all.prove(), all), 'token-key', 'the old key is withdrawn')
  },
)

t.test('a key that changes under its id is found, too', async t => {
  const all = await startHostile(t)
  const { hostile } = all
  t.equal(await outcomeOf(all.prove(), all), 'accepted')
  hostile.key = await createSigningKey()
  hostile.keys = [hostile.key.jwk]
  t.equal(await outcomeOf(all.prove(), all), 'accepted')
})

t.test('an unknown key fetches the JWKS at once, and then once a minute at most', async t => {
  const all = await startHostile(t)
  const { hostile } = all
  const fetches = () => hostile.requests.filter(one => one === FETCH).length
  t.equal(await outcomeOf(all.prove(), all), 'accepted')
  t.equal(fetches(), 1)
  const unknown = await createSigningKey('ES256', 'unknown')
  const token = await hostile.signed(hostile.logoutClaims(), { key: unknown })
  const outcomes = () => Promise.all(Array.from({ length: 20 }, () => outcomeOf(all.provider.logoutNotice(token), all)))
  t.same([...new Set(await outcomes())], ['token-key'])
  t.equal(fetches(), 2, 'one for all of them')
  t.same([...new Set(await outcomes())], ['token-key'])
  hostile.now += MINUTE - 1
  t.same([...new Set(await outcomes())], ['token-key'])
  t.equal(fetches(), 2)
  hostile.now += 1
  t.same([...new Set(await outcomes())], ['token-key'])
  t.equal(fetches(), 3)
  hostile.now -= HOUR
  t.equal(await outcomeOf(all.provider.logoutNotice(token), all), 'token-key')
  t.equal(fetches(), 4, 'a clock that was set back does not keep it from fetching')
})

t.test('the last keys stay while the provider is down, for as long as that lasts', async t => {
  const all = await startHostile(t)
  const { hostile } = all
  t.equal(await outcomeOf(all.prove(), all), 'accepted')
  const fail = json(500, {})
  hostile.answers = { '/keys': fail, '/.well-known/openid-configuration': fail }
  hostile.now += 48 * HOUR
  t.equal(await outcomeOf(all.prove(), all), 'accepted')
  t.match(all.provider.lines.join('\n'), /the last configuration.*the last keys/s)
  const requests = hostile.requests.length
  t.equal(await outcomeOf(all.prove(), all), 'accepted')
  t.same(hostile.requests.slice(requests), ['POST /token'], 'not each sign-in asks a provider that is down')
  const unknown = await createSigningKey('ES256', 'unknown')
  hostile.token = claims => hostile.signed(claims, { key: unknown })
  t.equal(await outcomeOf(all.prove(), all), 'unavailable', 'the key may be one that could not be fetched')
  t.equal(await outcomeOf(all.prove(), all), 'unavailable')
  hostile.answers = {}
  hostile.keys.push(unknown.jwk)
  hostile.now += MINUTE
  t.equal(await outcomeOf(all.prove(), all), 'accepted')
})

t.test('a withdrawn key ends within an hour', async t => {
  const all = await startHostile(t)
  const { hostile } = all
  t.equal(await outcomeOf(all.prove(), all), 'accepted')
  hostile.keys = [(await createSigningKey('ES256', 'two')).jwk]
  t.equal(await outcomeOf(all.prove(), all), 'accepted')
  hostile.now += HOUR
  t.equal(await outcomeOf(all.prove(), all), 'token-key')
})

t.test('IgnoresUnparseableKeyInJwks: other keys in the set do no harm', async t => {
  const outcome = await outcomeWith(t, hostile => {
    const { jwk } = hostile.key
    const odd = [
      null,
      17,
      'key',
      [],
      {},
      { kty: 'unknown', kid: 'one' },
      { kty: 'EC', crv: 'P-256', kid: 'one', x: 'AA', y: '!' },
      { kty: 'RSA', kid: 'one', n: 17, e: 'AQAB' },
      { kty: 'oct', kid: 'one', k: 'c2VjcmV0' },
      { ...jwk, d: 'AAAA' },
    ]
    hostile.keys = [...odd, jwk, ...odd]
  })
  t.equal(outcome, 'accepted')
})

t.test('a set without usable keys, and an answer that is no set, accept nothing', async t => {
  for (const [status, content, expected] of [
    [200, { keys: [] }, 'token-key'],
    [200, { keys: [{ kty: 'oct', kid: 'one', k: 'c2VjcmV0' }] }, 'token-key'],
    [200, { keys: {} }, 'unavailable'],
    [200, [], 'unavailable'],
    [200, 'text', 'unavailable'],
    [404, { keys: [] }, 'unavailable'],
  ] as const) {
    const outcome = await outcomeWith(t, hostile => {
      hostile.answers['/keys'] = json(status, content)
    })
    t.equal(outcome, expected, JSON.stringify(content))
  }
})
