import t, { type Test } from 'tap'
import {
  type Claims,
  createSigningKey,
  type HostileProvider,
  json,
  LOGOUT_EVENT,
  symmetric,
  unsigned,
} from '../support/hostile-provider.ts'
import { outcomeOf, startHostile } from './hostile-fixture.ts'
import { CLIENT } from './provider-fixture.ts'

/* The cases of the OpenID Foundation's plan for the back channel, by their names there (BackChannelLogout…). */

async function outcomeOfToken(t: Test, make: (hostile: HostileProvider) => Promise<string>): Promise<string> {
  const all = await startHostile(t)
  return outcomeOf(all.provider.logoutNotice(await make(all.hostile)), all)
}

const outcomeOfClaims = (t: Test, changes: (now: number) => Claims): Promise<string> =>
  outcomeOfToken(t, hostile => hostile.signed(hostile.logoutClaims(changes(Math.floor(hostile.now / 1000)))))

t.test('a logout token names the user, the session, or both', async t => {
  const { hostile, provider } = await startHostile(t)
  const iat = Math.floor(hostile.now / 1000)
  const notice = async (claims: Claims) => provider.logoutNotice(await hostile.signed(hostile.logoutClaims(claims)))
  const rest = { jti: 'of this notice', iat, exp: iat + 300 }
  t.same(await notice({}), { sub: 'ada', sid: 'one', ...rest })
  t.same(await notice({ sub: undefined }), { sid: 'one', ...rest })
  t.same(await notice({ sid: undefined, exp: undefined }), { sub: 'ada', jti: rest.jti, iat })
})

t.test('AlgNone and WrongAlg: a logout token without a signature of a listed algorithm is refused', async t => {
  const claims = (hostile: HostileProvider) => {
    const iat = Math.floor(hostile.now / 1000)
    return { iss: hostile.issuer, aud: CLIENT.client_id, iat, exp: iat + 60, ...hostile.logoutClaims() }
  }
  const none = await outcomeOfToken(t, async hostile => unsigned({ alg: 'none' }, claims(hostile)))
  t.equal(none, 'token-algorithm')
  const secret = await outcomeOfToken(t, hostile => symmetric(claims(hostile), CLIENT.client_secret))
  t.equal(secret, 'token-algorithm')
  const listed = await outcomeOfToken(t, async hostile => {
    const key = await createSigningKey('ES384')
    hostile.keys.push(key.jwk)
    return hostile.signed(hostile.logoutClaims(), { key })
  })
  t.equal(listed, 'token-algorithm')
  const other = await outcomeOfToken(t, async hostile =>
    hostile.signed(hostile.logoutClaims(), { key: await createSigningKey() }),
  )
  t.equal(other, 'token-signature')
})

t.test('NoEvent, WrongEvent, WithNonce, WrongAud, WrongIssuer: each has its own reason', async t => {
  const cases: [changes: (now: number) => Claims, expected: string][] = [
    [() => ({}), 'accepted'],
    [() => ({ events: undefined }), 'logout-event'],
    [() => ({ events: null }), 'logout-event'],
    [() => ({ events: [LOGOUT_EVENT] }), 'logout-event'],
    [() => ({ events: { 'http://schemas.openid.net/event/another': {} } }), 'logout-event'],
    [() => ({ events: { [LOGOUT_EVENT]: true } }), 'logout-event'],
    [() => ({ nonce: 'one' }), 'logout-nonce'],
    [() => ({ nonce: null }), 'logout-nonce'],
    [() => ({ aud: 'another-client' }), 'token-audience'],
    [() => ({ aud: undefined }), 'token-audience'],
    [() => ({ iss: 'https://elsewhere.example.com' }), 'token-issuer'],
    [() => ({ iss: undefined }), 'token-issuer'],
    [() => ({ jti: undefined }), 'logout-id'],
    [() => ({ jti: 17 }), 'logout-id'],
    [() => ({ sub: undefined, sid: undefined }), 'logout-subject'],
    [() => ({ sid: 17 }), 'logout-subject'],
    [() => ({ sub: '' }), 'logout-subject'],
    [() => ({ iat: undefined }), 'token-issued-at'],
    [now => ({ iat: now + 60 }), 'token-issued-at'],
    [now => ({ iat: now - 149 }), 'accepted'],
    [now => ({ iat: now - 152 }), 'logout-old'],
    [now => ({ exp: now - 60 }), 'token-expired'],
  ]
  for (const [changes, expected] of cases)
    t.equal(await outcomeOfClaims(t, changes), expected, JSON.stringify(changes(0)))
})

t.test('an ID token is no logout token', async t => {
  const all = await startHostile(t)
  const token = await all.hostile.signed(all.hostile.claims)
  t.equal(await outcomeOf(all.provider.logoutNotice(token), all), 'logout-event')
})

t.test('texts that are no tokens are refused', async t => {
  for (const text of ['', 'x', 'a.b.c', 'x'.repeat(1_000_000)])
    t.equal(await outcomeOfToken(t, async () => text), 'token-form', text.slice(0, 10))
})

t.test('a logout token that cannot be checked without keys is not refused', async t => {
  const all = await startHostile(t)
  all.hostile.answers['/keys'] = json(503, {})
  const token = await all.hostile.signed(all.hostile.logoutClaims())
  t.equal(await outcomeOf(all.provider.logoutNotice(token), all), 'unavailable')
  all.hostile.answers = {}
  t.equal(await outcomeOf(all.provider.logoutNotice(token), all), 'accepted', 'it is asked again at the next use')
})
