import type { IncomingHttpHeaders } from 'node:http'
import { Refusal } from '../base/refusal.ts'
import type { LoginType } from '../session/sides.ts'
import { readBearer, type Token } from '../token/bearer.ts'
import type { SessionCookies } from '../token/cookie.ts'
import { readBearerKey } from '../token/key-form.ts'
import { isCrossOrigin, isWrite, type OwnOrigins } from './cross-origin.ts'
import { type Client, KeyCredential } from './key-credential.ts'

/*
 * What proves the session of a request: the token or the key in its header, or the cookie of each side. One of them counts: where
 * the header is there, valid or not, cookies are ignored.
 */

export type Credential = Token | KeyCredential | CookieCredential

export interface CookieCredential {
  /** The token in the cookie of a side; `null` for none. Throws the refusal `COOKIE_TWICE` for two cookies of one name. */
  tokenOf(type: LoginType): Token | null
  /** Throws the refusal `CROSS_ORIGIN` for a write or a handshake that a page of another origin may have caused. */
  refuseCrossOrigin(): void
}

/** How credentials are read. */
export interface CredentialRules {
  /** Lower-case name of the header that carries the token. */
  tokenHeader: string
  /** `null` where no side has session cookies: then cookies are not read. */
  cookies: SessionCookies | null
  /** Further origins whose pages may send writes with a cookie. */
  origins: ReadonlySet<string>
  /** Whether programs of a side may have keys. */
  keys: boolean
}

export interface WithCredentials {
  readonly headers: IncomingHttpHeaders
  readonly method: string
  /** The tokens in the query of a WebSocket handshake; `null` for any other request. */
  readonly handshakeTokens: readonly string[] | null
  /** Where the client believes to be; read only for a write. */
  readonly own: OwnOrigins
  /** Whether it is for a page: of an application, or of the sign-in to one. */
  readonly isOfPage: boolean
}

/** The key in the header of a request, where there are keys; `null` without one. */
export function keyOf(
  { headers }: Pick<WithCredentials, 'headers'>,
  { keys, tokenHeader }: CredentialRules,
  client: Client,
): KeyCredential | null {
  const key = keys ? readBearerKey(headers[tokenHeader]) : null
  return key === null ? null : new KeyCredential(key, client)
}

/**
 * The credential of a request that brings no token: its cookies; `null` where they do not count. On a page, an `Authorization`
 * that has not the form of a token or of a key is the application's own, and the cookies count beside it.
 */
export function cookiesOf(
  request: WithCredentials,
  { tokenHeader, cookies, origins }: CredentialRules,
): CookieCredential | null {
  if (cookies === null) return null
  const { headers, handshakeTokens, isOfPage } = request
  if (handshakeTokens !== null && handshakeTokens.length > 0) return null
  if (headers[tokenHeader] !== undefined && !(isOfPage && isOfApplication(headers, tokenHeader))) return null
  return headers.cookie === undefined ? null : new CookiesOfRequest(request, headers.cookie, cookies, origins)
}

class CookiesOfRequest implements CookieCredential {
  readonly #request: WithCredentials
  readonly #header: string
  readonly #cookies: SessionCookies
  readonly #origins: ReadonlySet<string>

  constructor(request: WithCredentials, header: string, cookies: SessionCookies, origins: ReadonlySet<string>) {
    this.#request = request
    this.#header = header
    this.#cookies = cookies
    this.#origins = origins
  }

  tokenOf(type: LoginType): Token | null {
    const cookies = this.#cookies
    if (!cookies.sides.has(type)) return null
    const { token, count } = cookies.read(this.#header, type)
    const name = cookies.name(type)
    if (count > 1) throw new Refusal('COOKIE_TWICE', { params: { name }, data: { cookie: name } })
    return token
  }

  refuseCrossOrigin(): void {
    const { headers, method, handshakeTokens, own } = this.#request
    if (isWrite(method, handshakeTokens !== null) && isCrossOrigin(headers, own, this.#origins)) {
      throw new Refusal('CROSS_ORIGIN')
    }
  }
}

/** Whether the header of the token holds what an application behind a page reads. */
const isOfApplication = (headers: IncomingHttpHeaders, tokenHeader: string): boolean =>
  tokenHeader === 'authorization' &&
  readBearer(headers.authorization) === null &&
  readBearerKey(headers.authorization) === null
