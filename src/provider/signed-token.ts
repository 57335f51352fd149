import { errors, type JWTPayload, jwtVerify } from 'jose'
import type { Clock } from '../base/clock.ts'
import { Unavailable } from '../base/refusal.ts'
import type { ProviderSettings } from '../settings/schema/providers.ts'
import { type KeySet, type KnownKeys, mayBeNewer } from './jwks.ts'
import { type ProviderFault, ProviderRefusal } from './refusal.ts'

/** What both tokens of a provider are verified by. */
export interface TokenParts {
  settings: ProviderSettings
  keys: KnownKeys
  clock: Clock
}

export interface SignedToken {
  claims: JWTPayload & { iat: number }
  algorithm: string
}

/** Longer ones are no tokens of a provider; with the limit of an answer only logout tokens could be. */
const MAX_LENGTH = 65_536
/** OpenID Connect Core 1.0, 2: subjects have at most 255 characters. */
const MAX_ID = 255

/**
 * Verifies what ID tokens and logout tokens have in common: signature by a key of the provider and a listed algorithm, `iss`,
 * `aud`, and the times that are there, by the given clock. Throws `ProviderRefusal`, and `Unavailable` without keys.
 */
export async function verifySigned(token: string, parts: TokenParts): Promise<SignedToken> {
  const { settings, clock } = parts
  if (token.length > MAX_LENGTH) throw new ProviderRefusal('token-form')
  const verified = await withKeys(parts, keys => verify(token, keys, parts))
  const { payload, protectedHeader } = verified
  const { iat } = payload
  if (typeof iat !== 'number' || iat * 1000 > clock.now() + settings.clock_tolerance)
    throw new ProviderRefusal('token-issued-at')
  return { claims: { ...payload, iat }, algorithm: protectedHeader.alg }
}

const verify = (token: string, keys: KeySet, { settings, clock }: TokenParts) =>
  jwtVerify(token, keys, {
    algorithms: [...settings.algorithms],
    issuer: settings.issuer,
    audience: settings.client_id,
    clockTolerance: settings.clock_tolerance / 1000,
    currentDate: new Date(clock.now()),
  })

/** Once more with newer keys, if the token may be signed by one of these. */
async function withKeys<T>({ settings, keys }: TokenParts, work: (keys: KeySet) => Promise<T>): Promise<T> {
  const fetched = <K>(pending: Promise<K>): Promise<K> =>
    pending.catch(fault => {
      throw new Unavailable(`the provider ${settings.name}`, fault)
    })
  const known = await fetched(keys.get())
  try {
    return await work(known)
  } catch (fault) {
    const newer = mayBeNewer(fault) ? await fetched(keys.newerThan(known)) : null
    if (newer === null) throw refusalOf(fault)
    return await work(newer).catch(again => {
      throw refusalOf(again)
    })
  }
}

const OF_CODE: Readonly<Record<string, ProviderFault>> = {
  [errors.JWSInvalid.code]: 'token-form',
  [errors.JWTInvalid.code]: 'token-form',
  [errors.JOSEAlgNotAllowed.code]: 'token-algorithm',
  [errors.JOSENotSupported.code]: 'token-algorithm',
  [errors.JWKSNoMatchingKey.code]: 'token-key',
  [errors.JWKSMultipleMatchingKeys.code]: 'token-key',
  [errors.JWSSignatureVerificationFailed.code]: 'token-signature',
  [errors.JWTExpired.code]: 'token-expired',
}

const OF_CLAIM: Readonly<Record<string, ProviderFault>> = {
  iss: 'token-issuer',
  aud: 'token-audience',
  exp: 'token-expired',
  nbf: 'token-early',
  iat: 'token-issued-at',
}

function refusalOf(fault: unknown): ProviderRefusal {
  if (fault instanceof errors.JWTClaimValidationFailed)
    return new ProviderRefusal(OF_CLAIM[fault.claim] ?? 'token-form')
  const code = fault instanceof errors.JOSEError ? fault.code : ''
  return new ProviderRefusal(OF_CODE[code] ?? 'token-key')
}

/** Whether a claim can be the id of a user or a session: text that no other one becomes when it is written as UTF-8. */
export const isId = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_ID && !/\p{Cs}/u.test(value)
