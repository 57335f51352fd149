import type { Test } from 'tap'
import type { Answer } from './client.ts'
import { type Fixture, type FixtureOptions, openFixture } from './gateway-fixture.ts'
import { type OpenIdProvider, type OpenIdProviderOptions, startOpenIdProvider } from './openid-provider.ts'
import { freePort } from './ports.ts'

export const SECRET = 'the secret of the client, 32 bytes!'
export const SAME = { 'sec-fetch-site': 'same-origin' }

/** A gateway whose B side signs in by a real provider, and what browsers do there. */
export interface ProviderGateway extends Fixture {
  openid: OpenIdProvider
  /** A new browser, without cookies. */
  browser(): Browser
}

/** A browser as far as cookies and redirects go. */
export interface Browser {
  readonly cookies: Map<string, string>
  send(path: string, options?: { method?: string; headers?: Record<string, string>; body?: string }): Promise<Answer>
  /** Clicks the button of a provider; answers where it leads. */
  start(to?: string, name?: string): Promise<Answer>
  /** Follows a start to the provider, signs in there, and answers the callback that it leads to, as path and query. */
  atProvider(started: Answer, user?: string): Promise<string>
  /** All of it: the answer to the callback. */
  signIn(user?: string, to?: string, name?: string): Promise<Answer>
  /** Whom an upstream gets by the cookie, or the code of the refusal. */
  told(): Promise<string>
}

export interface ProviderGatewayOptions extends FixtureOptions {
  /** Of the provider in the settings. */
  provider?: Record<string, unknown>
  openid?: Partial<OpenIdProviderOptions>
}

export async function openProviderGateway(t: Test, options: ProviderGatewayOptions = {}): Promise<ProviderGateway> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const openid = await startOpenIdProvider({
    clients: [
      {
        client_id: 'dualgate',
        client_secret: SECRET,
        redirect_uris: [`${url}/sign-in/b/staff/callback`],
        post_logout_redirect_uris: [`${url}/sign-in/b/?signed-out=1`],
        backchannel_logout_uri: `${url}/sign-in/b/staff/logout`,
        backchannel_logout_session_required: true,
      },
    ],
    ...options.openid,
  })
  t.teardown(() => openid.stop())
  const staff = {
    name: 'staff',
    side: 'business',
    label: { en: 'Company account', 'zh-CN': '公司账号' },
    issuer: openid.issuer,
    client_id: 'dualgate',
    client_secret: SECRET,
    account: 'claims',
    roles: { claim: 'groups', map: { '/staff/admins': 'SUPER_ADMIN' } },
    timeout: '10s',
    ...options.provider,
  }
  const { config = {} } = options
  const fixture = await openFixture(t, {
    ...options,
    config: {
      ...config,
      listen: { host: '127.0.0.1', port, ...config.listen },
      browser: { business: 'on', secure: 'off', url, ...config.browser },
      gate: { pages: [{ path: '/wiki/*', needs: 'business' }], ...config.gate },
      login: { ...config.login, providers: [staff] },
    },
    upstreams: [...(options.upstreams ?? []), { name: 'wiki', match: '/wiki', target: 'builtin:echo' }],
  })
  fixture.secrets['the secret of the client'] = SECRET
  return Object.assign(fixture, { openid, browser: () => openBrowser(fixture, openid) })
}

/** What belongs to one sign-in: no line of the log may have it. */
const SECRET_PARAMETERS = ['state', 'nonce', 'code', 'code_challenge']

function keepSecrets({ secrets }: Fixture, { searchParams }: URL): void {
  for (const name of SECRET_PARAMETERS) {
    const secret = searchParams.get(name)
    if (secret !== null) secrets[`${name} ${Object.keys(secrets).length}`] = secret
  }
}

function openBrowser(fixture: Fixture, openid: OpenIdProvider): Browser {
  const cookies = new Map<string, string>()
  const browser: Browser = {
    cookies,
    async send(path, { headers = {}, ...rest } = {}) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const sent = { ...headers, ...(cookie !== '' && { cookie }) }
      const answer = await fixture.call({ path, ...rest, headers: sent })
      for (const line of answer.headers['set-cookie'] ?? []) keep(cookies, line)
      return answer
    },
    start: (to = '/wiki/page?x=1', name = 'staff') =>
      browser.send(`/sign-in/b/${name}/start`, {
        method: 'POST',
        headers: { ...SAME, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ to }).toString(),
      }),
    async atProvider(started, user = 'ada') {
      const location = String(started.headers.location)
      keepSecrets(fixture, new URL(location))
      const callback = await openid.signIn(location, user)
      keepSecrets(fixture, callback)
      fixture.secrets[`flow ${Object.keys(fixture.secrets).length}`] = cookies.get('dualgate-flow')!
      return callback.pathname + callback.search
    },
    async signIn(user, to, name) {
      return browser.send(await browser.atProvider(await browser.start(to, name), user))
    },
    async told() {
      const json = (await browser.send('/wiki/page')).json()
      return json.code === undefined ? (json.headers['x-login-id'] ?? 'no user') : String(json.code)
    },
  }
  return browser
}

function keep(cookies: Map<string, string>, line: string): void {
  const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
  if (/Max-Age=0/.test(line)) cookies.delete(name!)
  else cookies.set(name!, value!)
}

/** Where a callback leads: the parameters of the sign-in page. */
export const arrivalOf = ({ headers }: Answer): Record<string, string> =>
  Object.fromEntries(new URL(String(headers.location), 'http://gateway').searchParams)
