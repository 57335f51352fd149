import t, { type Test } from 'tap'
import { type OpenIdProviderOptions, startOpenIdProvider } from '../support/openid-provider.ts'
import { CLIENT, newRequest, open, REDIRECT_URI } from './provider-fixture.ts'

async function start(t: Test, options: Partial<OpenIdProviderOptions> = {}) {
  const openid = await startOpenIdProvider({ clients: [{ ...CLIENT, redirect_uris: [REDIRECT_URI] }], ...options })
  t.teardown(() => openid.stop())
  return openid
}

t.test('a user signs in with a certified provider', async t => {
  const openid = await start(t)
  const provider = open(t, openid.issuer)
  const request = newRequest()
  const callback = await openid.signIn(await provider.authorizationUrl(request, REDIRECT_URI))
  t.equal(callback.origin + callback.pathname, REDIRECT_URI)
  const identity = await provider.prove(callback.searchParams, request, REDIRECT_URI, ['preferred_username'])
  t.equal(identity.sub, 'ada')
  t.match(identity.claims, { name: 'Ada Lovelace', groups: ['/staff', '/staff/admins'], email_verified: true })
})
