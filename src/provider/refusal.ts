/** Why a provider's answer, or one of its tokens, is not accepted: one word a case, for log and counters. */
export type ProviderFault =
  // the callback
  /** The user, or the provider, declined (`access_denied`). */
  | 'denied'
  /** Another `error` of the provider. */
  | 'provider-error'
  /** A parameter is missing, there twice, or of another flow. */
  | 'callback-form'
  | 'state'
  /** `iss` (RFC 9207) is another, or missing where the provider promises it. */
  | 'issuer-mismatch'
  // the token endpoint
  /** The code: used, expired, or of another client, redirect URI or verifier. */
  | 'code-refused'
  /** The secret or the key of the client. */
  | 'client-refused'
  // both tokens
  | 'token-form'
  | 'token-algorithm'
  | 'token-key'
  | 'token-signature'
  | 'token-issuer'
  | 'token-audience'
  | 'token-expired'
  /** `nbf`. */
  | 'token-early'
  /** `iat` is missing, or in the future. */
  | 'token-issued-at'
  // the ID token
  | 'token-missing'
  | 'token-azp'
  | 'token-nonce'
  | 'token-subject'
  | 'token-session'
  | 'token-at-hash'
  | 'acr'
  // userinfo
  | 'userinfo'
  | 'userinfo-subject'
  // the logout token
  | 'logout-event'
  | 'logout-nonce'
  | 'logout-old'
  | 'logout-id'
  /** Neither `sub` nor `sid`, or one of another form. */
  | 'logout-subject'

/** A decision against what a provider says. What does not arrive is `Unavailable`. */
export class ProviderRefusal extends Error {
  readonly fault: ProviderFault
  /** The provider's own text, cut and escaped: for the log alone. */
  readonly detail?: string

  constructor(fault: ProviderFault, detail?: string) {
    super(`the provider's answer is refused: ${fault}`)
    this.name = 'ProviderRefusal'
    this.fault = fault
    if (detail !== undefined) this.detail = detail
  }
}

const MAX_DETAIL = 200

/**
 * A text of the provider's as the log may have it: without what is secret here, in one line of visible characters, and cut to
 * 200 of them.
 */
export function detailOf(text: string, secrets: readonly string[] = []): string {
  const open = secrets.reduce((rest, secret) => (secret === '' ? rest : rest.replaceAll(secret, '…')), text)
  const escaped = open.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, mark => `\\u{${mark.codePointAt(0)!.toString(16)}}`)
  return [...escaped].slice(0, MAX_DETAIL).join('')
}
