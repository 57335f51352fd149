import t from 'tap'
import type { ProviderFault } from '../../src/provider/refusal.ts'
import { CLIENT_ID, json, LOGOUT_EVENT, newKey, SUBJECT, signedBy } from '../support/hostile-provider.ts'
import { type HostileFixture, KEY, openHostile } from './hostile-fixture.ts'

/* Each token is correct but for one thing. Names in brackets: the plan of the OpenID Foundation for relying parties. */

const seconds = (fixture: HostileFixture, offset: number): number => Math.floor(fixture.clock.now() / 1000) + offset

t.test('a logout token names the session that ends, its user, or both', async t => {
  const { hostile, provider } = await openHostile(t)
  const both = await provider.logoutNotice(await hostile.logoutToken({ jti: 'one' }))
  t.match(both, { sub: SUBJECT, sid: 'session of the provider', jti: 'one', iat: Number, exp: Number })
  t.notOk('sid' in (await provider.logoutNotice(await hostile.logoutToken({ sid: undefined }))))
  t.notOk('sub' in (await provider.logoutNotice(await hostile.logoutToken({ sub: undefined }))))
  t.notOk('exp' in (await provider.logoutNotice(await hostile.logoutToken({ exp: undefined }))))
})

type Change = (fixture: HostileFixture) => Record<string, unknown>

const CLAIMS: readonly (readonly [name: string, fault: ProviderFault, change: Change])[] = [
  ['without events (NoEvent)', 'logout-event', () => ({ events: undefined })],
  ['of another event (WrongEvent)', 'logout-event', () => ({ events: { 'https://example.com/other': {} } })],
  ['whose event is a text', 'logout-event', () => ({ events: { [LOGOUT_EVENT]: 'now' } })],
  ['whose events are a list', 'logout-event', () => ({ events: [LOGOUT_EVENT] })],
  ['with a nonce (WithNonce)', 'logout-nonce', () => ({ nonce: 'n' })],
  ['with an empty nonce', 'logout-nonce', () => ({ nonce: null })],
  ['for another client (WrongAud)', 'token-audience', () => ({ aud: 'other' })],
  ['without audience', 'token-audience', () => ({ aud: undefined })],
  ['of another issuer (WrongIssuer)', 'token-issuer', () => ({ iss: 'https://other.example.com' })],
  ['without issuer', 'token-issuer', () => ({ iss: undefined })],
  ['without time of issue', 'token-issued-at', () => ({ iat: undefined })],
  ['of the future', 'token-issued-at', fixture => ({ iat: seconds(fixture, 31) })],
  ['older than two minutes', 'logout-old', fixture => ({ iat: seconds(fixture, -151) })],
  ['expired', 'token-expired', fixture => ({ exp: seconds(fixture, -31) })],
  ['not valid yet', 'token-early', fixture => ({ nbf: seconds(fixture, 31) })],
  ['without id', 'logout-id', () => ({ jti: undefined })],
  ['whose id is empty', 'logout-id', () => ({ jti: '' })],
  ['of no user and no session', 'logout-subject', () => ({ sub: undefined, sid: undefined })],
  ['whose user is a list', 'logout-subject', () => ({ sub: [SUBJECT] })],
  ['whose session is empty', 'logout-subject', () => ({ sid: '' })],
]

t.test('a logout token whose claims are wrong is refused, each with its own reason', async t => {
  for (const [name, fault, change] of CLAIMS)
    await t.test(name, async t => {
      const fixture = await openHostile(t)
      const { hostile, provider, refuses } = fixture
      await refuses(fault, provider.logoutNotice(await hostile.logoutToken(change(fixture))))
    })
})

t.test('a logout token may be on its way for two minutes, and the clocks may differ', async t => {
  const fixture = await openHostile(t)
  for (const iat of [seconds(fixture, -150), seconds(fixture, 30)])
    t.ok(await fixture.provider.logoutNotice(await fixture.hostile.logoutToken({ iat })))
})

t.test('a logout token without signature is refused (AlgNone)', async t => {
  const { hostile, provider, refuses } = await openHostile(t)
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  hostile.sign = claims => `${encoded({ alg: 'none' })}.${encoded(claims)}.`
  await refuses('token-algorithm', provider.logoutNotice(await hostile.logoutToken()))
})

t.test('a logout token of an algorithm that is not listed is refused (WrongAlg)', async t => {
  const { hostile, provider, refuses } = await openHostile(t)
  for (const alg of ['ES384', 'HS256']) {
    const { privateKey, jwk } = await newKey(alg === 'HS256' ? 'ES256' : alg, 'other')
    hostile.keys = [jwk]
    hostile.sign = signedBy({ alg, kid: 'other', privateKey: alg === 'HS256' ? Buffer.alloc(32) : privateKey })
    await refuses('token-algorithm', provider.logoutNotice(await hostile.logoutToken()))
  }
})

t.test('a logout token with the signature of another key, or of none, is refused', async t => {
  const { hostile, provider, refuses } = await openHostile(t)
  hostile.sign = signedBy(await newKey('ES256', 'first'))
  await refuses('token-signature', provider.logoutNotice(await hostile.logoutToken()))
  hostile.sign = signedBy({ ...KEY, kid: 'unknown' })
  await refuses('token-key', provider.logoutNotice(await hostile.logoutToken()))
  for (const token of ['', 'no token', 'a'.repeat(65_537)]) await refuses('token-form', provider.logoutNotice(token))
})

t.test('an ID token is no logout token', async t => {
  const { provider, refuses, signIn } = await openHostile(t)
  await refuses('logout-event', provider.logoutNotice((await signIn()).idToken))
})

t.test('a logout token cannot be checked while no keys are known', async t => {
  const { hostile, provider, isUnavailable } = await openHostile(t)
  hostile.answers.jwks = (_, response) => json(response, {}, 500)
  await isUnavailable(provider.logoutNotice(await hostile.logoutToken()))
})

const RETURN = 'https://admin.example.com/sign-in/b/?signed-out=1'

t.test('a sign-out goes on to the provider with the ID token, and comes back (RPInitLogout)', async t => {
  const { hostile, provider } = await openHostile(t)
  const url = new URL((await provider.endSessionUrl('the token', RETURN))!)
  t.equal(url.origin + url.pathname, hostile.metadata.end_session_endpoint)
  t.same(Object.fromEntries(url.searchParams), {
    client_id: CLIENT_ID,
    id_token_hint: 'the token',
    post_logout_redirect_uri: RETURN,
  })
  const without = new URL((await provider.endSessionUrl(null, RETURN))!)
  t.notOk(without.searchParams.has('id_token_hint'))
})

t.test('a sign-out ends here where the provider has no address for it, or none that is safe, or is down', async t => {
  for (const address of [undefined, '', 7, 'javascript:alert(1)', 'ftp://example.com/', '/logout']) {
    const { hostile, provider } = await openHostile(t)
    hostile.metadata.end_session_endpoint = address
    t.equal(await provider.endSessionUrl('the token', RETURN), null, String(address))
  }
  const { hostile, provider } = await openHostile(t)
  await hostile.stop()
  t.equal(await provider.endSessionUrl('the token', RETURN), null)
})
