import { type OpenIdProvider, startOpenIdProvider } from '../../test/support/openid-provider.ts'

const CLIENT = { client_id: 'bench', client_secret: 'secret of the bench, of 32 characters' }

/** The cookie of a session stands for a token. */
export const OAUTH2_PROXY_COOKIE = 'Cookie: _oauth2_proxy='

/** A provider that knows oauth2-proxy at this port. */
export const providerFor = (port: number): Promise<OpenIdProvider> =>
  startOpenIdProvider({ clients: [{ ...CLIENT, redirect_uris: [`http://127.0.0.1:${port}/oauth2/callback`] }] })

export interface OAuth2ProxyParts {
  port: number
  issuer: string
  redis: string
  upstream: string
}

/** oauth2-proxy with its sessions in Redis, and without a log, as dualgate is measured. */
export const oauth2ProxyCommand = (program: string, { port, issuer, redis, upstream }: OAuth2ProxyParts): string[] => [
  program,
  '--provider=oidc',
  `--oidc-issuer-url=${issuer}`,
  `--client-id=${CLIENT.client_id}`,
  `--client-secret=${CLIENT.client_secret}`,
  '--code-challenge-method=S256',
  '--email-domain=*',
  '--cookie-secret=0123456789abcdef0123456789abcdef',
  '--cookie-secure=false',
  '--session-store-type=redis',
  `--redis-connection-url=${redis}`,
  `--http-address=127.0.0.1:${port}`,
  `--redirect-url=http://127.0.0.1:${port}/oauth2/callback`,
  `--upstream=${upstream}`,
  '--skip-provider-button=true',
  '--request-logging=false',
  '--auth-logging=false',
  '--standard-logging=false',
]

/** Signs in as browsers do, and answers the cookies of the sessions. */
export async function oauth2ProxySessions(url: string, provider: OpenIdProvider, count: number): Promise<string[]> {
  const cookies: string[] = []
  for (let i = 0; i < count; i++) {
    const begun = await fetch(`${url}/oauth2/start?rd=%2F`, { redirect: 'manual' })
    const back = await provider.signIn(begun.headers.get('location')!, 'ada', `browser ${i}`)
    const cookie = begun.headers.getSetCookie().map(nameAndValue).join('; ')
    const ended = await fetch(back, { headers: { cookie }, redirect: 'manual' })
    const session = ended.headers.getSetCookie().map(nameAndValue).find(isSession)
    if (session === undefined) throw new Error(`oauth2-proxy began no session: ${ended.status} ${await ended.text()}`)
    cookies.push(session.slice(session.indexOf('=') + 1))
  }
  return cookies
}

const nameAndValue = (line: string): string => line.slice(0, line.indexOf(';'))
const isSession = (text: string): boolean => /^_oauth2_proxy=./.test(text)
