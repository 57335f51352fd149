import { generateSecret } from 'jose'
import t from 'tap'
import type { ProviderFault } from '../../src/provider/refusal.ts'
import { CLIENT_ID, hashOf, json, newKey, SUBJECT, signedBy, signText } from '../support/hostile-provider.ts'
import { type HostileFixture, KEY, openHostile } from './hostile-fixture.ts'
import { CLIENT } from './provider-fixture.ts'

/* Each provider is correct but for one thing. Names in brackets: the plan of the OpenID Foundation for relying parties. */

const seconds = (fixture: HostileFixture, offset: number): number => Math.floor(fixture.clock.now() / 1000) + offset

t.test('the ID token of a correct provider proves its user, by the clock of the gateway', async t => {
  const { hostile, signIn } = await openHostile(t)
  hostile.claims = { sid: 's-1', name: 'Ada' }
  const identity = await signIn()
  t.match(identity, { sub: SUBJECT, sid: 's-1', claims: { name: 'Ada' } })
  t.ok(hostile.secrets.includes(identity.idToken))
})

type Change = (fixture: HostileFixture) => Record<string, unknown> | Promise<Record<string, unknown>>
const OTHER = 'https://other.example.com'

/** What the claims of an ID token become, and why it is refused. */
const CLAIMS: readonly (readonly [name: string, fault: ProviderFault, change: Change])[] = [
  ['of another issuer (InvalidIss)', 'token-issuer', () => ({ iss: OTHER })],
  ['whose issuer has a slash more', 'token-issuer', ({ hostile }) => ({ iss: `${hostile.issuer}/` })],
  ['whose issuer is a list', 'token-issuer', ({ hostile }) => ({ iss: [hostile.issuer] })],
  ['without issuer (MissingIss)', 'token-issuer', () => ({ iss: undefined })],
  ['for another client (InvalidAud)', 'token-audience', () => ({ aud: 'other' })],
  ['for several other clients', 'token-audience', () => ({ aud: ['other', 'third'], azp: CLIENT_ID })],
  ['without audience (MissingAud)', 'token-audience', () => ({ aud: undefined })],
  ['whose audience only begins with the client', 'token-audience', () => ({ aud: `${CLIENT_ID}-2` })],
  ['for several clients, issued to another', 'token-azp', () => ({ aud: [CLIENT_ID, 'other'], azp: 'other' })],
  ['for several clients, issued to none', 'token-azp', () => ({ aud: [CLIENT_ID, 'other'] })],
  ['for this client, issued to another', 'token-azp', () => ({ azp: 'other' })],
  ['without subject (MissingSub)', 'token-subject', () => ({ sub: undefined })],
  ['with an empty subject', 'token-subject', () => ({ sub: '' })],
  ['whose subject is a number', 'token-subject', () => ({ sub: 7 })],
  ['whose subject is too long', 'token-subject', () => ({ sub: 'a'.repeat(256) })],
  ['whose subject is not well-formed', 'token-subject', () => ({ sub: 'a\ud800' })],
  ['whose session is a number', 'token-session', () => ({ sid: 7 })],
  ['without time of issue (MissingIat)', 'token-issued-at', () => ({ iat: undefined })],
  ['whose time of issue is a text', 'token-issued-at', fixture => ({ iat: String(seconds(fixture, 0)) })],
  ['of the future', 'token-issued-at', fixture => ({ iat: seconds(fixture, 31) })],
  ['not valid yet', 'token-early', fixture => ({ nbf: seconds(fixture, 31) })],
  ['expired', 'token-expired', fixture => ({ exp: seconds(fixture, -31) })],
  ['that never expires', 'token-expired', () => ({ exp: undefined })],
  ['of another sign-in (NonceInvalid)', 'token-nonce', () => ({ nonce: 'other' })],
  ['without nonce', 'token-nonce', () => ({ nonce: undefined })],
  ['of another access token (InvalidAtHash)', 'token-at-hash', () => ({ at_hash: hashOf('other', KEY.alg) })],
  ['whose at_hash is empty', 'token-at-hash', () => ({ at_hash: '' })],
]

t.test('an ID token whose claims are wrong is refused, each with its own reason', async t => {
  for (const [name, fault, change] of CLAIMS)
    await t.test(name, async t => {
      const fixture = await openHostile(t)
      fixture.hostile.claims = await change(fixture)
      await fixture.refuses(fault)
    })
})

t.test('an ID token may lack what is optional, and the clocks may differ by the tolerance', async t => {
  const fixture = await openHostile(t)
  const { hostile, signIn } = fixture
  for (const claims of [
    { at_hash: undefined },
    { aud: [CLIENT_ID] },
    { aud: [CLIENT_ID, 'other'], azp: CLIENT_ID },
    { iat: seconds(fixture, 30) },
    { nbf: seconds(fixture, 30) },
    { exp: seconds(fixture, -29) },
    { sub: 'a'.repeat(255) },
  ]) {
    hostile.claims = claims
    t.ok(await signIn(), JSON.stringify(claims))
  }
})

t.test('an ID token without signature is refused (IdTokenSigAlgNone)', async t => {
  const { hostile, refuses } = await openHostile(t)
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  for (const alg of ['none', 'None', 'NONE']) {
    hostile.sign = claims => `${encoded({ alg })}.${encoded(claims)}.`
    await refuses('token-algorithm')
  }
})

t.test('an ID token with the signature of another key is refused (InvalidIdTokenSignature)', async t => {
  for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA'])
    await t.test(alg, async t => {
      const { hostile, refuses } = await openHostile(t, {}, await newKey(alg, 'first'))
      hostile.sign = signedBy(await newKey(alg, 'first'))
      await refuses('token-signature')
    })
})

t.test('an ID token signed by a shared secret is refused, whatever the secret (InvalidIdTokenSignature)', async t => {
  const { hostile, refuses } = await openHostile(t)
  const publicKey = Buffer.from(JSON.stringify(KEY.jwk))
  for (const privateKey of [
    Buffer.from(CLIENT.client_secret),
    publicKey,
    (await generateSecret('HS256')) as CryptoKey,
  ]) {
    hostile.sign = signedBy({ alg: 'HS256', kid: 'first', privateKey })
    await refuses('token-algorithm')
  }
})

t.test('an ID token whose claims were changed after its signature is refused', async t => {
  const { hostile, refuses } = await openHostile(t)
  hostile.sign = async claims => {
    const [header, , signature] = (await signedBy(KEY)({ ...claims, sub: 'mallory' })).split('.')
    return `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}`
  }
  await refuses('token-signature')
})

t.test('an algorithm that the settings do not list is refused, though the provider offers it', async t => {
  const { refuses } = await openHostile(t, { algorithms: ['RS256'] })
  await refuses('token-algorithm')
})

t.test('an ID token with a critical extension is refused', async t => {
  const { hostile, refuses } = await openHostile(t)
  hostile.sign = async claims => {
    const [, ...rest] = (await signedBy(KEY)(claims)).split('.')
    const header = { alg: KEY.alg, kid: KEY.kid, crit: ['exp2'], exp2: 1 }
    return [Buffer.from(JSON.stringify(header)).toString('base64url'), ...rest].join('.')
  }
  await refuses('token-algorithm')
})

t.test('what is not an ID token is refused', async t => {
  const { hostile, refuses } = await openHostile(t)
  for (const token of ['', 'no token', 'a.b.c', 'e30.e30.e30', 'e30.e30.e30.e30.e30', 'a'.repeat(65_537)]) {
    hostile.sign = () => token
    await refuses('token-form')
  }
  for (const content of ['[]', 'null', '{', '"text"']) {
    hostile.sign = () => signText(content, KEY)
    await refuses('token-form')
  }
})

t.test('a token endpoint without an ID token is refused', async t => {
  const { hostile, refuses } = await openHostile(t)
  for (const id_token of [undefined, null, {}, 7]) {
    hostile.tokens = { id_token }
    await refuses('token-missing')
  }
})

t.test('at_hash is by the hash of the signature', async t => {
  const algorithms = ['RS256', 'PS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const
  for (const alg of algorithms) {
    const { hostile, refuses, signIn } = await openHostile(t, { algorithms: [...algorithms] }, await newKey(alg, 'one'))
    t.ok(await signIn(), alg)
    hostile.tokens = { access_token: 'another' }
    await refuses('token-at-hash')
  }
})

t.test('a demanded class of authentication must be in the ID token', async t => {
  const { hostile, provider, refuses, signIn } = await openHostile(t, { acr: ['gold', 'silver'] })
  for (const acr of [undefined, 'bronze', ['gold'], 'gold silver']) {
    hostile.claims = { acr }
    await refuses('acr')
  }
  hostile.claims = { acr: 'silver' }
  t.match(await signIn(), { sub: SUBJECT })
  const url = await provider.authorizationUrl({ state: 's', nonce: 'n', verifier: 'v' }, 'https://a.example.com/')
  t.equal(new URL(url).searchParams.get('acr_values'), 'gold silver')
})

t.test('userinfo of another user is refused (InvalidSubInUserinfo)', async t => {
  const { hostile, refuses, signIn } = await openHostile(t)
  for (const sub of ['mallory', undefined, '', 7, SUBJECT.toUpperCase() + ' ']) {
    hostile.userinfo = { sub, name: 'Ada' }
    await refuses('userinfo-subject', signIn(['name']))
  }
})

t.test('userinfo that the provider refuses is refused', async t => {
  const { hostile, refuses, signIn } = await openHostile(t)
  hostile.answers.userinfo = ({ headers }, response) => {
    response.setHeader('www-authenticate', `Bearer error="invalid_token", error_description="${headers.authorization}"`)
    json(response, {}, 401)
  }
  await refuses('userinfo', signIn(['name']))
})

t.test('userinfo as a JWT is not read, whoever signed it', async t => {
  const { hostile, isUnavailable, signIn } = await openHostile(t)
  const signed = await hostile.sign({ iss: hostile.issuer, aud: CLIENT_ID, sub: SUBJECT, name: 'Ada' })
  for (const type of ['application/jwt', 'Application/JWT; charset=utf-8']) {
    hostile.answers.userinfo = (_, response) => void response.writeHead(200, { 'content-type': type }).end(signed)
    t.match(await isUnavailable(signIn(['name'])), /the response is a JWT/)
  }
})

t.test('userinfo is requested for missing claims alone, and replaces none', async t => {
  const { hostile, signIn } = await openHostile(t)
  hostile.claims = { name: 'Ada', realm_access: { roles: ['admin'] } }
  hostile.userinfo = { name: 'Mallory', email: 'ada@example.com', iss: OTHER, phone: '1' }
  await signIn()
  await signIn(['name', 'realm_access.roles'])
  t.equal(hostile.count('userinfo'), 0)
  const { claims } = await signIn(['name', 'email'])
  t.equal(hostile.count('userinfo'), 1)
  t.match(claims, { name: 'Ada', email: 'ada@example.com', iss: hostile.issuer })
  t.notOk('phone' in claims)
  const { authorization } = hostile.requests.at(-1)!.headers
  t.ok(hostile.secrets.includes(String(authorization).replace('Bearer ', '')))
  hostile.userinfo = { _claim_names: { groups: 'src1' }, _claim_sources: {} }
  t.match((await signIn(['groups'])).claims, { _claim_names: { groups: 'src1' } })
})

t.test('a claim that neither has stays absent, also where there is no userinfo', async t => {
  const { hostile, signIn } = await openHostile(t)
  t.notOk('email' in (await signIn(['email'])).claims)
  const other = await openHostile(t)
  other.hostile.metadata.userinfo_endpoint = undefined
  t.notOk('email' in (await other.signIn(['email'])).claims)
  t.equal(hostile.count('userinfo'), 1)
})
