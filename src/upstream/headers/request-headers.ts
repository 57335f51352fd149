import { isDroppedFromRequests, namedByConnection, reservedForm } from '../../base/header-names.ts'
import { memoize } from '../../base/memoize.ts'
import type { Verdict } from '../../gate/rules.ts'
import type { PassAuthorization } from '../../settings/schema/upstreams.ts'
import type { Session } from '../../side/side.ts'
import { withoutSessionCookies } from '../../token/cookie.ts'
import type { OwnTokens } from '../../token/issued-here.ts'
import type { HeaderEdits } from './header-edits.ts'
import { addLogin } from './identity.ts'

/** The parts of a client's request that determine the forwarded headers. */
export interface IncomingRequest {
  /** Names and values in turn, as they arrived. */
  rawHeaders: readonly string[]
  /** The value of `Connection`. */
  connection: string | undefined
  verdict: Verdict
  session: Session | null
  /** Whether a cookie proves the session: then an `Authorization` does not. */
  hasCookieSession: boolean
  id: string
  /** The client's address, from the socket or through a chain of trusted proxies. */
  ip: string
  protocol: string
  /** The host that the client requested; `''` for HTTP/1.0 without one. */
  host: string
  httpVersion: string
}

export interface HeaderPolicy {
  /** The value of `Host`. */
  host: string
  /**
   * Whether headers with tokens are forwarded, including our tokens; with `bare` our token is forwarded without its
   * scheme.
   */
  passAuthorization: PassAuthorization
  /** Whether `Via` names the gateway. */
  via: boolean
  /** What the settings remove; what they set is added behind everything else. */
  edits: HeaderEdits | null
}

/** How a header is treated, by its name alone. */
type Fate = 'keep' | 'drop' | 'authorization' | 'token' | 'cookie'
type FateOf = (name: string) => Fate

type JudgedTokens = Pick<OwnTokens, 'isIn' | 'hasKey' | 'bareOf'>

export type RequestHeaders = (request: IncomingRequest, policy: HeaderPolicy) => string[]

/**
 * Builds the headers of upstream requests: names and values in turn; `host` first, then the permitted headers of the
 * client, ours last. `tokenHeader` is the lower-case name of the header that carries the token.
 */
export function createRequestHeaders(tokenHeader: string, ownTokens: JudgedTokens): RequestHeaders {
  const plain = createFates(tokenHeader, null)
  const edited = new WeakMap<HeaderEdits, FateOf>()

  /** Removed names are dropped like others, so that edits cost nothing for each header. */
  function fatesWith(edits: HeaderEdits | null): FateOf {
    if (edits === null) return plain
    const fates = edited.get(edits) ?? createFates(tokenHeader, edits)
    edited.set(edits, fates)
    return fates
  }

  /** What is forwarded of an authorization that has not proven the session; `null` for nothing. */
  function judged(value: string, pass: 'off' | 'bare'): string | null {
    if (pass === 'bare') return ownTokens.bareOf(value)
    return ownTokens.isIn(value) ? null : value
  }

  /** What is forwarded of a header; `null` for nothing. */
  function passedOn(fate: Fate, value: string, pass: PassAuthorization, isProof: boolean): string | null {
    if (fate === 'cookie') return withoutSessionCookies(value)
    if (ownTokens.hasKey(value)) return null
    if (isProof || pass === 'on') return value
    return judged(value, pass)
  }

  return (request, policy) => {
    const { passAuthorization: pass } = policy
    const { rawHeaders, session } = request
    const fateOf = fatesWith(policy.edits)
    const named = namedByConnection(request.connection)
    const passed = passedFates(request, pass)
    const isProof = session !== null && !request.hasCookieSession
    const headers = ['host', policy.host]
    let hasToken = false
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i]!
      const fate = fateOf(name)
      if (!passed[fate]) continue
      if (named !== null && fate === 'keep' && named.has(name.toLowerCase())) continue
      const value = rawHeaders[i + 1]!
      const passes = fate === 'keep' ? value : passedOn(fate, value, pass, isProof)
      if (passes === null) continue
      headers.push(name, passes)
      if (fate === 'token') hasToken = true
    }
    // Not beside what an application behind a page reads there: two would be ambiguous.
    if (pass === 'bare' && !hasToken && isByToken(session) && policy.edits?.removes(tokenHeader) !== true)
      headers.push(tokenHeader, session.token)
    addOurs(headers, request, policy.via)
    return headers
  }
}

const isByToken = (session: Session | null): session is Session => session !== null && session.key === undefined

function createFates(tokenHeader: string, edits: HeaderEdits | null): FateOf {
  const reservedToken = reservedForm(tokenHeader)
  return memoize(name => {
    const reserved = reservedForm(name)
    // `Host` is set by the upstream's option, first of all.
    if (reserved === 'host' || isDroppedFromRequests(name) || edits?.removes(name)) return 'drop'
    if (reserved === reservedToken) return 'token'
    if (reserved === 'authorization') return 'authorization'
    return reserved === 'cookie' ? 'cookie' : 'keep'
  })
}

function passedFates(request: IncomingRequest, pass: PassAuthorization): Record<Fate, boolean> {
  const { session, verdict, hasCookieSession } = request
  const carries = verdict.rule.carries === 'everything'
  // With a cookie, the authorization of a page is the application's own.
  const isOpen = session === null || (hasCookieSession && verdict.page !== undefined)
  return {
    keep: true,
    drop: false,
    // If no session was needed, a backend may use an authorization of its own: values that are not our tokens are
    // forwarded.
    authorization: carries && (pass !== 'off' || isOpen),
    token: carries && (pass === 'on' || isOpen),
    cookie: carries,
  }
}

function addOurs(headers: string[], request: IncomingRequest, via: boolean): void {
  const { session, id, ip, protocol, host, httpVersion } = request
  headers.push('x-forwarded-for', ip, 'x-forwarded-proto', protocol)
  if (host !== '') headers.push('x-forwarded-host', host)
  headers.push('x-forwarded-port', portOf(host, protocol), 'x-request-id', id, 'trace_id', id)
  // RFC 9110 7.6.3: behind those of the client, with the version that the client spoke. A gateway may omit it from its
  // answers, and this one does, because no reader needs it.
  if (via) headers.push('via', httpVersion === '1.1' ? '1.1 dualgate' : `${httpVersion} dualgate`)
  if (session !== null) addLogin(headers, session)
}

const PORT = /:(\d{1,5})$/

const portOf = (host: string, protocol: string): string => PORT.exec(host)?.[1] ?? (protocol === 'https' ? '443' : '80')
