import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CompactSign, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

/** A key pair of a provider. */
export interface SigningKey {
  alg: string
  kid: string | null
  privateKey: CryptoKey
  /** As it stands in the JWKS. */
  jwk: JWK
}

export type Claims = Record<string, unknown>
type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** A provider made of parts, each of which a test may change: all else is right. */
export interface HostileProvider {
  issuer: string
  /** The requests that it got: method and path, in their order. */
  requests: string[]
  /** Milliseconds: the time in its tokens. */
  now: number
  metadata: Claims
  key: SigningKey
  /** The JWKS. */
  keys: unknown[]
  /** Of the ID token; a value `undefined` leaves the claim out. */
  claims: Claims
  /** Makes the ID token; `signed` by default. */
  token: (claims: Claims) => Promise<unknown>
  /** What the token endpoint answers beside it. */
  tokens: Claims
  userinfo: Claims
  /** Takes the place of the answer of a path. */
  answers: Record<string, Answer>
  /** A token by a key of the provider's, or another one. */
  signed(claims: Claims, by?: { key?: SigningKey; header?: Claims }): Promise<string>
  /** The claims of a valid logout token. */
  logoutClaims(changes?: Claims): Claims
  stop(): Promise<void>
}

export async function createSigningKey(alg = 'ES256', kid: string | null = 'one'): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), alg, use: 'sig', ...(kid !== null && { kid }) } as JWK
  return { alg, kid, privateKey, jwk }
}

/** `header` and claims, base64url, with this as the signature. */
export const unsigned = (header: Claims, claims: Claims, signature = ''): string =>
  `${[header, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.${signature}`

/** By a key that both know: the secret of the client, or a public key. */
export const symmetric = (claims: Claims, secret: string | Uint8Array, header: Claims = {}): Promise<string> =>
  new CompactSign(Buffer.from(JSON.stringify(claims)))
    .setProtectedHeader({ alg: 'HS256', ...header })
    .sign(typeof secret === 'string' ? Buffer.from(secret) : secret)

export const ACCESS_TOKEN = 'an-access-token-of-the-hostile-provider'
export const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'
export const json =
  (status: number, content: unknown): Answer =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content))

export async function startHostileProvider(clientId: string): Promise<HostileProvider> {
  const key = await createSigningKey()
  const server = createServer((request, response) => void answer(hostile, request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const seconds = (): number => Math.floor(hostile.now / 1000)
  const times = () => ({ iss: issuer, aud: clientId, iat: seconds(), exp: seconds() + 300 })
  const hostile: HostileProvider = {
    issuer,
    requests: [],
    now: Date.now(),
    metadata: metadataOf(issuer),
    key,
    keys: [key.jwk],
    claims: {},
    token: claims => hostile.signed(claims),
    tokens: { access_token: ACCESS_TOKEN, token_type: 'Bearer' },
    userinfo: { sub: 'ada' },
    answers: {},
    signed(claims, { key: by = hostile.key, header = {} } = {}) {
      const named = { alg: by.alg, ...(by.kid !== null && { kid: by.kid }), ...header }
      return new SignJWT({ ...times(), sub: 'ada', ...claims }).setProtectedHeader(named).sign(by.privateKey)
    },
    logoutClaims: changes => ({ jti: 'of this notice', sid: 'one', events: { [LOGOUT_EVENT]: {} }, ...changes }),
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return hostile
}

const metadataOf = (issuer: string): Claims => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  userinfo_endpoint: `${issuer}/userinfo`,
  jwks_uri: `${issuer}/keys`,
  end_session_endpoint: `${issuer}/logout`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['HS256', 'ES256'],
})

async function answer(hostile: HostileProvider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  const path = request.url!.split('?')[0]!
  hostile.requests.push(`${request.method} ${path}`)
  const own = hostile.answers[path]
  if (own !== undefined) return own(request, response, body)
  const contents: Record<string, () => unknown> = {
    '/.well-known/openid-configuration': () => hostile.metadata,
    '/keys': () => ({ keys: hostile.keys }),
    '/token': async () => ({ ...hostile.tokens, id_token: await hostile.token(hostile.claims) }),
    '/userinfo': () => hostile.userinfo,
  }
  const content = contents[path]
  if (content === undefined) response.writeHead(404).end()
  else json(200, await content())(request, response, body)
}
