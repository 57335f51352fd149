import { buildAuthorizationUrl, buildEndSessionUrl, calculatePKCECodeChallenge } from 'openid-client'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log/log.ts'
import { Unavailable } from '../base/refusal.ts'
import type { ProviderSettings } from '../settings/schema/providers.ts'
import { completed, missingIn } from './claim-path.ts'
import { type Client, createClient } from './client.ts'
import { exchangeCode, type SignInRequest, userinfoOf } from './code-grant.ts'
import { createExchange, type Exchange } from './exchange.ts'
import { verifyIdToken } from './id-token.ts'
import { KnownKeys } from './jwks.ts'
import { type LogoutNotice, verifyLogoutToken } from './logout-token.ts'
import { isAddress, KnownMetadata, type Metadata } from './metadata.ts'
import { detailOf, ProviderRefusal } from './refusal.ts'
import type { TokenParts } from './signed-token.ts'

export type { SignInRequest } from './code-grant.ts'
export type { LogoutNotice } from './logout-token.ts'

export interface ProvedIdentity {
  sub: string
  /** The session at the provider; absent if it names none. */
  sid?: string
  /** Claims of the ID token, and of userinfo for wanted claims that are missing there. Plain JSON. */
  claims: Readonly<Record<string, unknown>>
  /** For the sign-out at the provider alone. */
  idToken: string
}

/** An OpenID provider, of which the gateway is a client. */
export interface Provider {
  readonly settings: ProviderSettings
  /** Where the browser goes. Throws `Unavailable`. */
  authorizationUrl(request: SignInRequest, redirectUri: string): Promise<string>
  /**
   * Exchanges the code of a callback for a user. `wanted`: the names of claims, with dots into objects. Throws
   * `ProviderRefusal` with one reason a case, and `Unavailable` when the provider is down, slow, or answers nonsense.
   */
  prove(
    callback: URLSearchParams,
    request: SignInRequest,
    redirectUri: string,
    wanted: readonly string[],
  ): Promise<ProvedIdentity>
  /**
   * Checks a logout token, except that its `jti` is new. Throws `ProviderRefusal`, and `Unavailable` where keys could not be
   * fetched.
   */
  logoutNotice(token: string): Promise<LogoutNotice>
  /** Where a sign-out goes on to; `null` where the provider has no such address, or cannot be asked. */
  endSessionUrl(idToken: string | null, returnTo: string): Promise<string | null>
  /**
   * Asks for configuration and keys. `backChannel`: whether it sends logout tokens; `null` if it does not say. Throws
   * `Unavailable`, or `ProviderRefusal` when none of its keys or algorithms is usable.
   */
  reach(): Promise<{ endSession: boolean; backChannel: boolean | null }>
  /** Does not wait for requests: they fail. */
  close(): Promise<void>
}

interface Parts extends TokenParts {
  metadata: KnownMetadata
  exchange: Exchange
  createClient: Client
}

/** Sends nothing before its first use. Throws `ConfigurationError` when a file of the settings cannot be read. */
export function createProvider(settings: ProviderSettings, { clock, log }: { clock: Clock; log: Logger }): Provider {
  const exchange = createExchange(settings)
  const metadata = new KnownMetadata(settings, exchange, { clock, log })
  const keys = new KnownKeys(metadata, exchange, { clock, log, provider: settings.name })
  const parts: Parts = { settings, clock, exchange, metadata, keys, createClient: createClient(settings, clock) }
  const available = <T>(work: () => Promise<T>) => orUnavailable(settings.name, work)
  return {
    settings,
    authorizationUrl: (request, redirectUri) => available(() => authorizationUrl(parts, request, redirectUri)),
    prove: (callback, request, redirectUri, wanted) =>
      available(() => prove(parts, callback, request, redirectUri, wanted)),
    logoutNotice: token => available(() => verifyLogoutToken(token, parts)),
    endSessionUrl: (idToken, returnTo) => endSessionUrl(parts, idToken, returnTo),
    reach: () => available(() => reach(parts)),
    close: () => exchange.close(),
  }
}

async function orUnavailable<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (fault) {
    if (fault instanceof ProviderRefusal || fault instanceof Unavailable) throw fault
    throw new Unavailable(`the provider ${name}`, fault)
  }
}

async function authorizationUrl(
  { settings, metadata, exchange, createClient }: Parts,
  { state, nonce, verifier }: SignInRequest,
  redirectUri: string,
): Promise<string> {
  const client = await createClient(await metadata.get(), exchange.fetch)
  return buildAuthorizationUrl(client, {
    response_type: 'code',
    response_mode: 'query',
    redirect_uri: redirectUri,
    scope: [...new Set(['openid', ...settings.scopes])].join(' '),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...(settings.acr !== undefined && { acr_values: settings.acr.join(' ') }),
  }).href
}

async function prove(
  parts: Parts,
  callback: URLSearchParams,
  request: SignInRequest,
  redirectUri: string,
  wanted: readonly string[],
): Promise<ProvedIdentity> {
  const metadata = await parts.metadata.get()
  const tokens = await exchangeCode(callback, request, redirectUri, { ...parts, metadata })
  const { idToken, accessToken } = tokens
  const claims = await verifyIdToken(idToken, { nonce: request.nonce, accessToken }, parts)
  const { sub, sid } = claims
  const missing = missingIn(claims, wanted)
  const hasMore = missing.length > 0 && metadata.userinfo_endpoint !== undefined
  return {
    sub,
    ...(sid !== undefined && { sid }),
    claims: hasMore ? completed(claims, await userinfoOf(tokens, sub), missing) : claims,
    idToken,
  }
}

/** A sign-out has happened here already: it does not fail with the provider. */
async function endSessionUrl(
  { settings, metadata, exchange, createClient }: Parts,
  idToken: string | null,
  returnTo: string,
): Promise<string | null> {
  const known = await metadata.get().catch(() => null)
  if (known === null || !isAddress(known.end_session_endpoint, settings)) return null
  return buildEndSessionUrl(await createClient(known, exchange.fetch), {
    post_logout_redirect_uri: returnTo,
    ...(idToken !== null && { id_token_hint: idToken }),
  }).href
}

async function reach({
  settings,
  metadata,
  keys,
}: Parts): Promise<{ endSession: boolean; backChannel: boolean | null }> {
  const known: Metadata = await metadata.get()
  const { keys: usable } = (await keys.get()).jwks()
  if (usable.length === 0) throw new ProviderRefusal('token-key', 'its JWKS has no usable key')
  const { backchannel_logout_supported: backChannel, id_token_signing_alg_values_supported: offered } = known
  if (Array.isArray(offered) && !settings.algorithms.some(one => offered.includes(one)))
    throw new ProviderRefusal('token-algorithm', detailOf(`it signs with ${offered.join(', ')}`))
  return {
    endSession: isAddress(known.end_session_endpoint, settings),
    backChannel: typeof backChannel === 'boolean' ? backChannel : null,
  }
}
