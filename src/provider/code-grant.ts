import {
  authorizationCodeGrant,
  type Configuration,
  fetchUserInfo,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client'
import { isPlainObject } from '../base/plain-object.ts'
import type { ProviderSettings } from '../settings/schema/providers.ts'
import { checkCallback } from './callback.ts'
import type { Client } from './client.ts'
import type { Exchange } from './exchange.ts'
import { faultOfAnswer, type Metadata } from './metadata.ts'
import { detailOf, ProviderRefusal } from './refusal.ts'

export interface SignInRequest {
  state: string
  nonce: string
  /** Of PKCE (RFC 7636). */
  verifier: string
}

/** What a provider gives for a code. */
export interface Tokens {
  /** As it arrived: not verified. */
  idToken: string
  accessToken: string
  /** For userinfo. */
  client: Configuration
}

export interface GrantParts {
  settings: ProviderSettings
  metadata: Metadata
  createClient: Client
  exchange: Exchange
}

/**
 * Exchanges the code of a callback (OpenID Connect Core 1.0, 3.1.3). Throws `ProviderRefusal`, and an `Error` without secrets
 * when no answer arrives, or nonsense.
 */
export async function exchangeCode(
  callback: URLSearchParams,
  { state, verifier }: SignInRequest,
  redirectUri: string,
  { settings, metadata, createClient, exchange }: GrantParts,
): Promise<Tokens> {
  checkCallback(callback, state, metadata)
  const guarded = guard(exchange, metadata)
  const client = await createClient(metadata, guarded.fetch)
  const url = new URL(redirectUri)
  url.search = callback.toString()
  try {
    const { access_token } = await authorizationCodeGrant(client, url, {
      expectedState: state,
      pkceCodeVerifier: verifier,
    })
    const idToken = guarded.idToken()
    if (typeof idToken !== 'string') throw new ProviderRefusal('token-missing')
    return { idToken, accessToken: access_token, client }
  } catch (fault) {
    throw faultOfGrant(fault, [state, verifier, callback.get('code')!, settings.client_secret ?? '', guarded.proof()])
  }
}

/**
 * The exchange as the library may use it. It keeps the ID token from the library, which would check its times by the system's
 * clock, and its algorithm by what the provider offers: here the given clock and the settings decide.
 */
function guard({ fetch }: Exchange, { token_endpoint }: Metadata) {
  let idToken: unknown
  let proof = ''
  return {
    idToken: () => idToken,
    /** The secret as the header had it, which an error may repeat. An assertion is longer than what is logged. */
    proof: () => proof,
    async fetch(...[url, options]: Parameters<Exchange['fetch']>): Promise<Response> {
      proof = options?.headers?.authorization?.replace(/^Basic /, '') ?? ''
      const response = await fetch(url, options)
      // Its signature would not be verified by the library, and the client asks for JSON.
      if (/^application\/jwt\b/i.test(response.headers.get('content-type') ?? ''))
        throw new Error('the response is a JWT')
      if (url !== new URL(token_endpoint).href || response.status !== 200) return response
      const answer: unknown = await response.json().catch(() => null)
      if (!isPlainObject(answer)) throw new Error('the response of the token endpoint is not a JSON object')
      const { id_token, ...rest } = answer
      idToken = id_token
      return Response.json(rest)
    },
  }
}

function faultOfGrant(fault: unknown, secrets: readonly string[]): Error {
  if (fault instanceof ProviderRefusal) return fault
  if (fault instanceof WWWAuthenticateChallengeError) return new ProviderRefusal('client-refused')
  if (fault instanceof ResponseBodyError) {
    const { error, error_description = '' } = fault
    const detail = detailOf(error_description === '' ? error : `${error}: ${error_description}`, secrets)
    return new ProviderRefusal(error === 'invalid_grant' ? 'code-refused' : 'client-refused', detail)
  }
  return faultOfAnswer(fault)
}

/**
 * The claims of userinfo (OpenID Connect Core 1.0, 5.3). Throws `ProviderRefusal` where the provider refuses them, or they are
 * of another user, and an `Error` without secrets when no answer arrives, or nonsense.
 */
export async function userinfoOf({ client, accessToken }: Tokens, sub: string): Promise<Record<string, unknown>> {
  try {
    return await fetchUserInfo(client, accessToken, sub)
  } catch (fault) {
    throw faultOfUserinfo(fault, sub)
  }
}

function faultOfUserinfo(fault: unknown, sub: string): Error {
  const { cause } = fault as { cause?: unknown }
  const isRefused = cause instanceof Response && (cause.status === 401 || cause.status === 403)
  if (isRefused || fault instanceof WWWAuthenticateChallengeError) return new ProviderRefusal('userinfo')
  const claims = refusedBody(fault)
  return claims !== null && claims.sub !== sub ? new ProviderRefusal('userinfo-subject') : faultOfAnswer(fault)
}

/** The body that the library found wrong, which is the cause of its error, or of the cause of that; `null` without one. */
function refusedBody(fault: unknown): Record<string, unknown> | null {
  const { cause } = fault as { cause?: unknown }
  if (cause instanceof Error) return refusedBody(cause)
  return isPlainObject(cause) && isPlainObject(cause.body) ? cause.body : null
}
