import { once } from 'node:events'
import { createServer } from 'node:http'
import { exportJWK, type JWK } from 'jose'
import type { ClientMetadata, Configuration, Provider } from 'oidc-provider'
import { newKeyPair } from './key-pair.ts'
import { freePort } from './ports.ts'

/** A user of the provider: what it says of them. The name is the `sub`. */
export type ProviderUser = Record<string, unknown>

export interface OpenIdProviderOptions {
  /** `client_id`, `client_secret` and `redirect_uris` at least; the rest of dynamic registration as it is needed. */
  clients: ClientMetadata[]
  /** By `sub`. */
  users?: Record<string, ProviderUser>
  /** The claims are in userinfo alone, as by default of the specification, and not in the ID token. */
  claimsInUserinfo?: boolean
  /** Further settings of `oidc-provider`. */
  configuration?: Configuration
}

/** A real provider (`oidc-provider`, certified by the OpenID Foundation) without forms. */
export interface OpenIdProvider {
  issuer: string
  /** Whom its sign-in form would log in. A browser that is logged in there stays who it is. */
  user: string
  /** Its sign-in form waits for this. */
  held: Promise<void>
  users: Record<string, ProviderUser>
  provider: Provider
  /** The requests of browsers that it got: method and path. */
  requests: string[]
  /** What it sent to back channels, and the status of the answers; `null` when none arrived. */
  backChannelCalls: { url: string; body: URLSearchParams; status: number | null }[]
  /**
   * Follows an authorization URL as a browser does, up to the redirect that leaves the provider: the callback. The cookies stay
   * with the user, or with the browser of this name.
   */
  signIn(url: string, user?: string, browser?: string): Promise<URL>
  /** Follows an end-session URL with the cookies of a browser, and confirms; answers where it leads in the end. */
  signOut(url: string, browser?: string): Promise<URL>
  /** Ends all sessions of a user at the provider, which calls the back channels of their clients. */
  logout(user: string): Promise<void>
  /** Another address for the logouts of a client. */
  callBackChannelAt(clientId: string, url: string): Promise<void>
  /** The newest session of a user at the provider, as its tokens name it. */
  sidOf(user: string): string
  /** A browser loses its cookies of the provider: its next sign-in begins another session there. */
  forget(browser: string): void
  stop(): Promise<void>
}

export const USERS: Record<string, ProviderUser> = {
  ada: {
    name: 'Ada Lovelace',
    preferred_username: 'ada',
    email: 'ada@example.com',
    email_verified: true,
    groups: ['/staff', '/staff/admins'],
  },
  bob: {
    name: 'Bob',
    preferred_username: 'bob',
    email: 'bob@example.com',
    email_verified: false,
    groups: ['/staff'],
  },
}

const SCOPE_CLAIMS = { profile: ['name', 'preferred_username', 'groups'], email: ['email', 'email_verified'] }

export async function startOpenIdProvider(options: OpenIdProviderOptions): Promise<OpenIdProvider> {
  // Only where one is started: the library warns of this version of Node when it is loaded.
  const { Provider } = await import('oidc-provider')
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const backChannelCalls: OpenIdProvider['backChannelCalls'] = []
  const requests: string[] = []
  const users = options.users ?? structuredClone(USERS)
  const provider = new Provider(issuer, {
    ...(await configurationOf(options, users)),
    fetch: (url, init) => callBackChannel(backChannelCalls, String(url), init as RequestInit),
    ...options.configuration,
  })
  const jars = new Map<string, Map<string, string>>()
  const openid: OpenIdProvider = {
    issuer,
    user: Object.keys(users)[0]!,
    held: Promise.resolve(),
    users,
    provider,
    backChannelCalls,
    requests,
    signIn(url, user = openid.user, browser = user) {
      return leave(issuer, url, jarOf(jars, browser), { 'x-test-user': user })
    },
    signOut: (url, browser = openid.user) => leave(issuer, url, jarOf(jars, browser)),
    forget: browser => void jars.delete(browser),
    async callBackChannelAt(clientId, url) {
      const client = (await provider.Client.find(clientId)) as unknown as BackChannelClient
      client.backchannelLogoutUri = url
    },
    ...watchSessions(provider),
    stop: await serve(provider, port, { requests, user: () => openid.held.then(() => openid.user) }),
  }
  return openid
}

async function configurationOf(
  { clients, claimsInUserinfo = false }: OpenIdProviderOptions,
  users: Record<string, ProviderUser>,
): Promise<Configuration> {
  return {
    clients: clients.map(client => ({ response_types: ['code'], grant_types: ['authorization_code'], ...client })),
    claims: { openid: ['sub', 'sid'], ...SCOPE_CLAIMS },
    conformIdTokenClaims: claimsInUserinfo,
    findAccount: (_, sub) =>
      Object.hasOwn(users, sub) ? { accountId: sub, claims: () => ({ ...users[sub], sub }) } : undefined,
    cookies: { keys: ['of the tests'] },
    jwks: { keys: [await signingKey('RS256'), await signingKey('ES256'), await signingKey('EdDSA')] },
    pkce: { required: () => true },
    ttl: { AccessToken: 3600, AuthorizationCode: 60, Grant: 86400, IdToken: 3600, Interaction: 3600, Session: 86400 },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource(ctx, form) {
          ctx.body = form
        },
        postLogoutSuccessSource(ctx) {
          ctx.body = 'signed out'
        },
      },
    },
    /**
     * Without a question for consent. A session has one grant for each client: with another one for a second tab, the code of
     * the first would be refused.
     */
    async loadExistingGrant({ oidc }) {
      const { client, session, params, provider } = oidc
      const jti = `${session!.uid}.${client!.clientId}`
      const given = await provider.Grant.find(jti)
      const grant = given ?? new provider.Grant({ clientId: client!.clientId, accountId: session!.accountId! })
      grant.jti = jti
      grant.addOIDCScope(String(params!.scope))
      await grant.save()
      return grant
    },
    renderError(ctx, out) {
      ctx.body = JSON.stringify(out)
    },
  }
}

async function signingKey(alg: string): Promise<JWK> {
  return { ...(await exportJWK(newKeyPair(alg).privateKey)), alg, use: 'sig', kid: alg.toLowerCase() }
}

/** The library calls no addresses of this machine, and gives up sooner than a busy machine answers. */
async function callBackChannel(
  calls: OpenIdProvider['backChannelCalls'],
  url: string,
  { method, headers, body }: RequestInit,
): Promise<Response> {
  const call: OpenIdProvider['backChannelCalls'][number] = {
    url,
    body: new URLSearchParams(String(body)),
    status: null,
  }
  calls.push(call)
  const response = await fetch(url, { method, headers, body, redirect: 'manual' } as RequestInit)
  call.status = response.status
  return response
}

/** Serves the provider, and logs in at its interactions without a form. Answers what ends it. */
async function serve(
  provider: Provider,
  port: number,
  { requests, user }: { requests: string[]; user: () => Promise<string> },
): Promise<() => Promise<void>> {
  const answer = provider.callback()
  const server = createServer(async (request, response) => {
    // A browser asks for it when a page stays for a while, and would complain of 404.
    if (request.url === '/favicon.ico') return response.writeHead(204).end()
    requests.push(`${request.method} ${new URL(request.url!, 'http://provider').pathname}`)
    if (!request.url!.startsWith('/interaction/')) return answer(request, response)
    const accountId = String(request.headers['x-test-user'] ?? (await user()))
    await provider.interactionFinished(request, response, { login: { accountId } })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
}

/** The sessions at the provider, and their ends as by their users. */
function watchSessions(provider: Provider): Pick<OpenIdProvider, 'logout' | 'sidOf'> {
  const known = new Map<string, { accountId: string; sid: string | undefined }>()
  provider.on(
    'session.saved' as never,
    ((session: SavedSession) => {
      const { uid, accountId, authorizations = {} } = session
      if (accountId !== undefined) known.set(uid, { accountId, sid: Object.values(authorizations)[0]?.sid })
    }) as never,
  )
  return {
    sidOf: user => [...known.values()].findLast(({ accountId, sid }) => accountId === user && sid !== undefined)!.sid!,
    async logout(user) {
      for (const [uid] of [...known].filter(([, { accountId }]) => accountId === user)) {
        known.delete(uid)
        const session = await provider.Session.findByUid(uid)
        if (session === undefined) continue
        for (const clientId of Object.keys(session.authorizations ?? {})) {
          const client = (await provider.Client.find(clientId)) as unknown as BackChannelClient
          if (client.backchannelLogoutUri !== undefined)
            await client.backchannelLogout(user, session.sidFor(clientId)).catch(() => undefined)
        }
        await session.destroy()
      }
    },
  }
}

interface SavedSession {
  uid: string
  accountId?: string
  authorizations?: Record<string, { sid: string }>
}

/** What the types of the library leave out. */
interface BackChannelClient {
  backchannelLogoutUri?: string
  backchannelLogout(accountId: string, sid: string | undefined): Promise<void>
}

function jarOf(jars: Map<string, Map<string, string>>, browser: string): Map<string, string> {
  const jar = jars.get(browser) ?? new Map<string, string>()
  jars.set(browser, jar)
  return jar
}

/** Follows redirects, and sends forms, until one leads away from the provider. */
async function leave(
  issuer: string,
  url: string,
  jar: Map<string, string>,
  headers: Record<string, string> = {},
): Promise<URL> {
  let request = new Request(url)
  for (;;) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    for (const [name, value] of Object.entries({ ...headers, cookie })) request.headers.set(name, value)
    const response = await fetch(request, { redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) keep(jar, line)
    const page = await response.text()
    const location = response.headers.get('location')
    if (location === null) request = formOf(page, request.url)
    else {
      const next = new URL(location, request.url)
      if (next.origin !== issuer) return next
      request = new Request(next)
    }
  }
}

function keep(jar: Map<string, string>, line: string): void {
  const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
  if (value === '' || /expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name!)
  else jar.set(name!, value!)
}

/** The form by which a user confirms the end of their session. */
function formOf(page: string, url: string): Request {
  const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1]
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1]
  if (action === undefined || xsrf === undefined) throw new Error(`no redirect and no form at ${url}: ${page}`)
  return new Request(new URL(action, url), { method: 'POST', body: new URLSearchParams({ xsrf, logout: 'yes' }) })
}
