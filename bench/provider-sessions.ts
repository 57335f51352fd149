import { providerPaths } from '../src/gate/own-pages.ts'
import { type LoginType, SIDES } from '../src/session/sides.ts'
import { type OpenIdProvider, type ProviderUser, startOpenIdProvider } from '../test/support/openid-provider.ts'
import type { BenchGateway } from './gateway.ts'
import type { Scene } from './process.ts'

/* Sessions that begin at an OpenID provider. */

/** What browsers and the provider call all gateways. */
const URL_OF_ALL = 'http://gateway.example'
const CLIENT = { client_id: 'dualgate', client_secret: 'of the bench' }

const pathsOf = (type: LoginType) => providerPaths(type, 'staff')

/** A provider that knows the gateways; `users` by their `sub`. */
export async function startProvider(
  scene: Scene,
  type: LoginType,
  users?: Record<string, ProviderUser>,
): Promise<OpenIdProvider> {
  const client = {
    ...CLIENT,
    redirect_uris: [URL_OF_ALL + pathsOf(type).callback],
    backchannel_logout_uri: URL_OF_ALL + pathsOf(type).logout,
  }
  const openid = await startOpenIdProvider({ clients: [client], ...(users && { users }) })
  scene.keep({ end: () => openid.stop() })
  return openid
}

/** Sends the logouts of the provider to one gateway. */
export const sendLogouts = (
  openid: OpenIdProvider,
  type: LoginType,
  { url }: Pick<BenchGateway, 'url'>,
): Promise<void> => openid.callBackChannelAt(CLIENT.client_id, url + pathsOf(type).logout)

/** The settings of a gateway whose users sign in there. */
export const providerSettings = (type: LoginType, { issuer }: Pick<OpenIdProvider, 'issuer'>) => ({
  browser: { [SIDES[type].name]: true, secure: false, url: URL_OF_ALL },
  login: {
    rate_limit: false,
    providers: [{ name: 'staff', side: SIDES[type].name, label: 'Staff', issuer, ...CLIENT, account: 'claims' }],
  },
})

/** A sign-in without a browser: the token that the cookie keeps. */
export async function signInAt(
  openid: OpenIdProvider,
  type: LoginType,
  { url }: Pick<BenchGateway, 'url'>,
  user: string,
): Promise<string> {
  const started = await fetch(url + pathsOf(type).start, {
    method: 'POST',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ to: '/' }),
    redirect: 'manual',
  })
  const cookie = started.headers.getSetCookie()[0]!.split(';')[0]!
  const { pathname, search } = await openid.signIn(started.headers.get('location')!, user)
  const arrived = await fetch(url + pathname + search, { headers: { cookie }, redirect: 'manual' })
  const token = /^dualgate-.=([^;]+)/.exec(arrived.headers.getSetCookie()[0] ?? '')?.[1]
  if (token === undefined) throw new Error(`the sign-in led to ${arrived.headers.get('location')}`)
  return token
}
