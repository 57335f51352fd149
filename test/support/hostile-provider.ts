import { createHash, type KeyObject, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createPlainServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import { text } from 'node:stream/consumers'
import { CompactSign, type CryptoKey, exportJWK, type JWK, SignJWT } from 'jose'
import type { Clock } from '../../src/base/clock.ts'
import { newKeyPair } from './key-pair.ts'
import { freePort } from './ports.ts'

type Claims = Record<string, unknown>
export type Endpoint = 'discovery' | 'jwks' | 'token' | 'userinfo'
export type Answer = (request: ReceivedRequest, response: ServerResponse) => void

export interface ReceivedRequest {
  endpoint: Endpoint
  headers: IncomingMessage['headers']
  body: URLSearchParams
}

export interface SigningKey {
  alg: string
  kid?: string
  privateKey: KeyObject
  /** As a JWKS has it. */
  jwk: JWK
}

/**
 * A provider that is correct until a test changes a part of it. A value of `undefined` leaves a claim, a parameter or an entry
 * out.
 */
export interface HostileProvider {
  readonly issuer: string
  metadata: Claims
  /** What its JWKS has. */
  keys: unknown[]
  /** Makes its ID tokens. */
  sign: (claims: Claims) => Promise<string> | string
  /** Changes of the claims of its ID tokens, */
  claims: Claims
  /** of what userinfo says, */
  userinfo: Claims
  /** and of what its token endpoint says. */
  tokens: Claims
  /** Instead of the correct answer. */
  answers: Partial<Record<Endpoint, Answer>>
  /** What arrived, in this order. */
  readonly requests: ReceivedRequest[]
  /** What must not be logged: codes and tokens that it made. */
  readonly secrets: string[]
  /** What the browser brings back from an authorization URL. */
  authorize(url: string, changes?: Claims): URLSearchParams
  logoutToken(changes?: Claims): Promise<string>
  /** How often one of its addresses was requested. */
  count(endpoint: Endpoint): number
  stop(): Promise<void>
}

export const SUBJECT = '248289761001'
export const CLIENT_ID = 'dualgate'
export const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'
const HASHES: Readonly<Record<string, string>> = { '256': 'sha256', '384': 'sha384', '512': 'sha512', dDSA: 'sha512' }

export async function newKey(alg = 'ES256', kid?: string): Promise<SigningKey> {
  const { privateKey, publicKey } = newKeyPair(alg)
  const named = kid === undefined ? {} : { kid }
  return { alg, ...named, privateKey, jwk: { ...(await exportJWK(publicKey)), use: 'sig', alg, ...named } }
}

/** Signs claims as they are, with a header that may differ from the key. */
export const signedBy =
  (
    { alg, kid, privateKey }: Pick<SigningKey, 'alg' | 'kid'> & { privateKey: KeyObject | CryptoKey | Uint8Array },
    header = {},
  ) =>
  (claims: Claims): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg, ...(kid !== undefined && { kid }), ...header }).sign(privateKey)

/** Signs a text that need not be JSON. */
export const signText = (content: string, { alg, kid, privateKey }: SigningKey): Promise<string> =>
  new CompactSign(Buffer.from(content)).setProtectedHeader({ alg, ...(kid !== undefined && { kid }) }).sign(privateKey)

export const hashOf = (token: string, alg: string): string => {
  const digest = createHash(HASHES[alg.slice(-3)] ?? HASHES[alg.slice(-4)]!)
    .update(token)
    .digest()
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

/** Its times are those of the clock. */
export async function startHostileProvider(
  clock: Clock,
  key: SigningKey,
  tls: ServerOptions | null = null,
): Promise<HostileProvider> {
  const port = await freePort()
  const issuer = `${tls === null ? 'http' : 'https'}://127.0.0.1:${port}`
  const nonces = new Map<string, string>()
  const provider: HostileProvider = {
    issuer,
    metadata: metadataOf(issuer),
    keys: [key.jwk],
    sign: signedBy(key),
    claims: {},
    userinfo: {},
    tokens: {},
    answers: {},
    requests: [],
    secrets: [],
    authorize(url, changes = {}) {
      const { nonce, state } = Object.fromEntries(new URL(url).searchParams)
      const code = randomBytes(16).toString('hex')
      nonces.set(code, nonce!)
      provider.secrets.push(code, state!)
      return new URLSearchParams(present({ code, state, iss: issuer, ...changes }))
    },
    async logoutToken(changes = {}) {
      const claims = { ...logoutClaims(issuer, clock), ...changes }
      return keep(provider, await provider.sign(claims))
    },
    count: endpoint => provider.requests.filter(request => request.endpoint === endpoint).length,
    stop: () => stop(server),
  }
  const listener = (request: IncomingMessage, response: ServerResponse) =>
    void answer(provider, request, response, code => createTokens(provider, clock, key.alg, nonces.get(code)))
  const server = tls === null ? createPlainServer(listener) : createTlsServer(tls, listener)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return provider
}

const metadataOf = (issuer: string): Claims => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  userinfo_endpoint: `${issuer}/userinfo`,
  jwks_uri: `${issuer}/jwks`,
  end_session_endpoint: `${issuer}/logout`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256', 'ES256', 'HS256', 'none'],
  authorization_response_iss_parameter_supported: true,
  backchannel_logout_supported: true,
})

const present = (values: Claims): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, String(value)]),
  )

const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  '/.well-known/openid-configuration': 'discovery',
  '/jwks': 'jwks',
  '/token': 'token',
  '/userinfo': 'userinfo',
}

async function answer(
  provider: HostileProvider,
  request: IncomingMessage,
  response: ServerResponse,
  tokens: (code: string) => Promise<Claims>,
): Promise<void> {
  const endpoint = ENDPOINTS[request.url!]
  if (endpoint === undefined) return void response.writeHead(404).end()
  const received = { endpoint, headers: request.headers, body: new URLSearchParams(await text(request)) }
  provider.requests.push(received)
  const other = provider.answers[endpoint]
  if (other !== undefined) return other(received, response)
  const correct = {
    discovery: () => provider.metadata,
    jwks: () => ({ keys: provider.keys }),
    token: () => tokens(received.body.get('code')!),
    userinfo: () => ({ sub: SUBJECT, ...provider.userinfo }),
  }
  json(response, await correct[endpoint]())
}

export const json = (response: ServerResponse, content: unknown, status = 200): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content))

async function createTokens(provider: HostileProvider, clock: Clock, alg: string, nonce?: string): Promise<Claims> {
  const access_token = keep(provider, randomBytes(32).toString('base64url'))
  const now = Math.floor(clock.now() / 1000)
  const claims = {
    iss: provider.issuer,
    aud: CLIENT_ID,
    sub: SUBJECT,
    iat: now,
    exp: now + 300,
    nonce,
    at_hash: hashOf(access_token, alg),
    ...provider.claims,
  }
  const id_token = keep(provider, await provider.sign(claims))
  return { access_token, token_type: 'Bearer', expires_in: 300, id_token, ...provider.tokens }
}

const logoutClaims = (issuer: string, clock: Clock): Claims => ({
  iss: issuer,
  aud: CLIENT_ID,
  sub: SUBJECT,
  sid: 'session of the provider',
  jti: randomUUID(),
  iat: Math.floor(clock.now() / 1000),
  exp: Math.floor(clock.now() / 1000) + 120,
  events: { [LOGOUT_EVENT]: {} },
})

function keep({ secrets }: HostileProvider, secret: string): string {
  secrets.push(secret)
  return secret
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}
