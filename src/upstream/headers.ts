import type { Verdict } from '../gate/rules.ts'
import type { Session } from '../side/side.ts'
import type { OwnTokens } from '../token/own.ts'
import { isDroppedFromRequests, namedByConnection, remembering, reservedForm } from './header-names.ts'

/** What of a caller's request decides about the headers that go on. */
export interface IncomingRequest {
  /** Names and values in turn, as they arrived. */
  rawHeaders: readonly string[]
  /** The value of `Connection`. */
  connection: string | undefined
  verdict: Verdict
  session: Session | null
  id: string
  /** Where the caller is, as the edge believes it: the socket, or a chain of trusted proxies. */
  ip: string
  protocol: string
  /** The host that the caller asked for; `''` for HTTP/1.0 without one. */
  host: string
}

export interface HeaderPolicy {
  /** The value of `Host`. */
  host: string
  /** Whether the headers that carry tokens go on, ours in them or not. */
  passAuthorization: boolean
}

/** What happens to a header, by its name alone. */
type Fate = 'keep' | 'drop' | 'authorization' | 'cookie'

export type RequestHeaders = (request: IncomingRequest, policy: HeaderPolicy) => string[]

/**
 * Makes the headers of upstream requests: names and values in turn, `host` first, then what the caller sent and may
 * send, ours last. `tokenHeader` is the lower-case name of the header that carries the token.
 */
export function createRequestHeaders(tokenHeader: string, ownTokens: Pick<OwnTokens, 'isIn'>): RequestHeaders {
  const reservedToken = reservedForm(tokenHeader)
  const fateOf = remembering((name): Fate => {
    const reserved = reservedForm(name)
    // `Host` is set by the upstream's option, first of all.
    if (reserved === 'host' || isDroppedFromRequests(name)) return 'drop'
    if (reserved === 'authorization' || reserved === reservedToken) return 'authorization'
    return reserved === 'cookie' ? 'cookie' : 'keep'
  })

  return (request, policy) => {
    const { rawHeaders, session, verdict } = request
    const named = namedByConnection(request.connection)
    // An OPTIONS request passed without a session only because of its method: it carries nothing that authenticates.
    const bare = verdict.rule === 2
    const passed: Record<Fate, boolean> = {
      keep: true,
      drop: false,
      // Where no session was needed a backend may have an authorization of its own: what is not ours is passed.
      authorization: !bare && (policy.passAuthorization || session === null),
      cookie: !bare,
    }
    const isJudged = !policy.passAuthorization
    const headers = ['host', policy.host]
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i]!
      const fate = fateOf(name)
      if (!passed[fate]) continue
      if (named !== null && fate === 'keep' && named.has(name.toLowerCase())) continue
      const value = rawHeaders[i + 1]!
      if (isJudged && fate === 'authorization' && ownTokens.isIn(value)) continue
      headers.push(name, value)
    }
    addOurs(headers, request)
    return headers
  }
}

function addOurs(headers: string[], { session, id, ip, protocol, host }: IncomingRequest): void {
  headers.push('x-forwarded-for', ip, 'x-forwarded-proto', protocol)
  if (host !== '') headers.push('x-forwarded-host', host)
  headers.push('x-forwarded-port', portOf(host, protocol), 'x-request-id', id)
  if (session !== null) headers.push('x-login-id', session.record.user_id, 'x-login-type', session.record.type)
}

const PORT = /:(\d{1,5})$/

const portOf = (host: string, protocol: string): string => PORT.exec(host)?.[1] ?? (protocol === 'https' ? '443' : '80')
