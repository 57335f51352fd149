import type { Metadata } from './metadata.ts'
import { detailOf, ProviderRefusal } from './refusal.ts'

/** Parameters that a callback may have once. */
const ONCE = ['code', 'state', 'iss', 'error', 'error_description']
/** Of answers that were not requested: tokens in the URL, and signed answers (JARM). */
const OF_OTHER_FLOWS = ['id_token', 'token', 'access_token', 'response']

/** Checks what a browser brings back, before its code is used (OpenID Connect Core 1.0, 3.1.2.5 and 3.1.2.6; RFC 9207). */
export function checkCallback(callback: URLSearchParams, state: string, metadata: Metadata): void {
  if (ONCE.some(name => callback.getAll(name).length > 1) || OF_OTHER_FLOWS.some(name => callback.has(name)))
    throw new ProviderRefusal('callback-form')
  const iss = callback.get('iss')
  if (iss === null ? metadata.authorization_response_iss_parameter_supported === true : iss !== metadata.issuer)
    throw new ProviderRefusal('issuer-mismatch')
  if (callback.get('state') !== state) throw new ProviderRefusal('state')
  const error = callback.get('error')
  if (error !== null) throw refusalOf(error, callback, state)
  if (!callback.get('code')) throw new ProviderRefusal('callback-form')
}

function refusalOf(error: string, callback: URLSearchParams, state: string): ProviderRefusal {
  const description = callback.get('error_description')
  const text = description === null ? error : `${error}: ${description}`
  return new ProviderRefusal(
    error === 'access_denied' ? 'denied' : 'provider-error',
    detailOf(text, [state, callback.get('code') ?? '']),
  )
}
