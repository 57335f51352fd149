import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClientMetadata } from 'oidc-provider'
import t, { type Test } from 'tap'
import type { ProviderFault } from '../../src/provider/refusal.ts'
import type { ProviderSettings } from '../../src/settings/schema/providers.ts'
import { newKeyPair } from '../support/key-pair.ts'
import { type OpenIdProviderOptions, startOpenIdProvider } from '../support/openid-provider.ts'
import { CLIENT, newRequest, open, parametersOf, REDIRECT_URI } from './provider-fixture.ts'

/* With a real provider. */

const refused = (fault: ProviderFault) => ({ name: 'ProviderRefusal', fault })

const SIGNED_OUT = 'http://127.0.0.1/sign-in/b/?signed-out=1'

async function start(
  t: Test,
  {
    client = {},
    settings = {},
    ...options
  }: Partial<OpenIdProviderOptions> & { client?: Partial<ClientMetadata>; settings?: Partial<ProviderSettings> } = {},
) {
  const openid = await startOpenIdProvider({
    clients: [{ ...CLIENT, redirect_uris: [REDIRECT_URI], post_logout_redirect_uris: [SIGNED_OUT], ...client }],
    ...options,
  })
  t.teardown(() => openid.stop())
  const provider = open(t, openid.issuer, settings)
  return {
    openid,
    provider,
    async signIn(user?: string, wanted: readonly string[] = []) {
      const request = newRequest()
      const callback = await openid.signIn(await provider.authorizationUrl(request, REDIRECT_URI), user)
      const prove = () => provider.prove(callback.searchParams, request, REDIRECT_URI, wanted)
      return { identity: await prove(), request, callback, prove }
    },
  }
}

t.test('a user signs in, and a code is used once', async t => {
  const { signIn, openid } = await start(t)
  const { identity, callback, prove } = await signIn('ada')
  t.equal(callback.origin + callback.pathname, REDIRECT_URI)
  t.equal(callback.searchParams.get('iss'), openid.issuer)
  t.equal(identity.sub, 'ada')
  t.match(identity.claims, { name: 'Ada Lovelace', groups: ['/staff', '/staff/admins'], email_verified: true })
  await t.rejects(prove(), refused('code-refused'))
  t.equal((await signIn('bob')).identity.sub, 'bob')
})

t.test('the authorization URL has all that a sign-in needs', async t => {
  const { provider, openid } = await start(t, { settings: { scopes: ['email', 'openid'], acr: ['phr', 'phrh'] } })
  const request = newRequest()
  const { origin, searchParams } = new URL(await provider.authorizationUrl(request, REDIRECT_URI))
  t.equal(origin, openid.issuer)
  const { code_challenge, ...rest } = Object.fromEntries(searchParams)
  t.match(code_challenge, /^[\w-]{43}$/)
  t.not(code_challenge, request.verifier)
  t.same(rest, {
    ...parametersOf(request),
    scope: 'openid email',
    acr_values: 'phr phrh',
  })
})

t.test('claims that are in userinfo alone are requested there', async t => {
  const { signIn } = await start(t, { claimsInUserinfo: true })
  t.notOk('groups' in (await signIn()).identity.claims)
  t.match((await signIn('ada', ['groups'])).identity.claims, { groups: ['/staff', '/staff/admins'] })
})

t.test('each listed algorithm is verified', async t => {
  for (const id_token_signed_response_alg of ['RS256', 'ES256', 'EdDSA'] as const) {
    const { signIn } = await start(t, { client: { id_token_signed_response_alg } })
    t.equal((await signIn()).identity.sub, 'ada', id_token_signed_response_alg)
  }
})

t.test('the client proves itself by each way of the settings', async t => {
  const post = await start(t, {
    client: { token_endpoint_auth_method: 'client_secret_post' },
    settings: { client_auth: 'post' },
  })
  t.equal((await post.signIn()).identity.sub, 'ada')
  const pairs = ['RS256', 'ES384', 'EdDSA'].map(alg => newKeyPair(alg))
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-provider-'))
  for (const [index, { publicKey, privateKey }] of pairs.entries()) {
    const key = join(folder, `${index}.pem`)
    writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }))
    const jwks = { keys: [publicKey.export({ format: 'jwk' })] } as never
    const { client_id } = CLIENT
    const openid = await startOpenIdProvider({
      clients: [
        {
          client_id,
          redirect_uris: [REDIRECT_URI],
          token_endpoint_auth_method: 'private_key_jwt',
          jwks,
        } as ClientMetadata,
      ],
      configuration: { enabledJWA: { clientAuthSigningAlgValues: ['RS256', 'ES384', 'EdDSA'] } },
    })
    t.teardown(() => openid.stop())
    const provider = open(t, openid.issuer, { key })
    const request = newRequest()
    const callback = await openid.signIn(await provider.authorizationUrl(request, REDIRECT_URI))
    t.equal((await provider.prove(callback.searchParams, request, REDIRECT_URI, [])).sub, 'ada', `key ${index}`)
  }
})

t.test('a client that the provider does not know is refused as such', async t => {
  const { signIn } = await start(t, { settings: { client_secret: 'another secret of the client' } })
  await t.rejects(signIn(), refused('client-refused'))
})

t.test('a sign-in with another verifier or nonce is refused', async t => {
  const { openid, provider } = await start(t)
  for (const [change, fault] of [
    [{ verifier: newRequest().verifier }, 'code-refused'],
    [{ nonce: newRequest().nonce }, 'token-nonce'],
  ] as const) {
    const request = newRequest()
    const { searchParams } = await openid.signIn(await provider.authorizationUrl(request, REDIRECT_URI))
    await t.rejects(provider.prove(searchParams, { ...request, ...change }, REDIRECT_URI, []), refused(fault))
  }
})

t.test(
  'RPInitLogout: a sign-out ends the session at the provider, and comes back without and with a state',
  async t => {
    // So that ID tokens name the session.
    const client = { backchannel_logout_uri: 'http://127.0.0.1:1/', backchannel_logout_session_required: true }
    const { openid, provider, signIn } = await start(t, { client })
    const { identity } = await signIn()
    t.equal((await signIn()).identity.sid, identity.sid)
    const url = await provider.endSessionUrl(identity.idToken, SIGNED_OUT)
    t.equal((await openid.signOut(url!)).href, SIGNED_OUT)
    t.not((await signIn()).identity.sid, identity.sid, 'the session there is another one')
    const withState = `${await provider.endSessionUrl((await signIn()).identity.idToken, SIGNED_OUT)}&state=odd`
    t.equal((await openid.signOut(withState)).href, `${SIGNED_OUT}&state=odd`)
    const withoutToken = new URL((await provider.endSessionUrl(null, SIGNED_OUT))!)
    t.same(Object.fromEntries(withoutToken.searchParams), {
      client_id: CLIENT.client_id,
      post_logout_redirect_uri: SIGNED_OUT,
    })
  },
)

t.test('BackChannelLogout: the logout token of a real provider names the user and the session', async t => {
  const received: string[] = []
  const server = createServer(async (request, response) => {
    for await (const chunk of request.setEncoding('utf8')) received.push(chunk)
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const backchannel_logout_uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/sign-in/b/staff/logout`
  const client = { backchannel_logout_uri, backchannel_logout_session_required: true }
  const { openid, provider, signIn } = await start(t, { client })
  const { identity } = await signIn()
  t.type(identity.sid, 'string')
  await signIn('bob')
  await openid.logout('ada')
  t.match(openid.backChannelCalls, [{ url: backchannel_logout_uri, status: 200 }])
  const notice = await provider.logoutNotice(new URLSearchParams(received.join('')).get('logout_token')!)
  t.match(notice, { sub: 'ada', sid: identity.sid, jti: String, iat: Number })
  t.not((await signIn()).identity.sid, identity.sid)
  t.same(await provider.reach(), { endSession: true, backChannel: true })
})

t.test('`check --connect` finds a provider whose algorithms are not listed', async t => {
  const { provider } = await start(t, { settings: { algorithms: ['ES512'] } })
  await t.rejects(provider.reach(), { ...refused('token-algorithm'), detail: /^it signs with .*RS256/ })
})
