import { isCors, isDroppedFromResponses, namedByConnection, SESSION_HEADER } from '../../base/header-names.ts'
import { memoize } from '../../base/memoize.ts'
import { setsSessionCookie } from '../../token/cookie.ts'
import type { HeaderEdits } from './header-edits.ts'

export interface ResponseHead {
  /** Names and values in turn; several `Set-Cookie` stay several. */
  headers: string[]
  /** Whether the upstream says how long the body is. */
  hasLength: boolean
  /** What the upstream said that is not for clients, and was dropped: a session cookie of ours, or `X-Dualgate-Session`. */
  dropped: 'cookie' | 'session' | null
}

export interface ResponseCircumstances {
  status: number
  /** The gateway's own headers for the client (CORS, request id); they replace upstream headers of the same name. */
  ours: Readonly<Record<string, number | string | string[] | undefined>>
  /** Whether the upstream's CORS headers are forwarded; otherwise they are dropped. */
  passCors: boolean
  /** Whether a trailer section can follow the body: the client speaks HTTP/1.1, and the answer has a body. */
  mayTrail: boolean
  /** What the settings change in the upstream's headers; `null` for nothing. */
  edits: HeaderEdits | null
  /** Whether the answer is for one client, and no shared cache knows it by the request. */
  isPersonal: boolean
}

/** Fields that add to each other instead of replacing: a cache has to see the upstream's `Vary` and ours. */
const ADDING = new Set(['vary', 'set-cookie'])

/** Fields that are not allowed in a trailer section (RFC 9110 6.5.1). */
const HEAD_ONLY = /^(?:content-|set-cookie$|authorization$|host$|cache-control$|location$|trailer$)/

/** Names with a special meaning, in lower case, besides those that are only dropped or kept. */
const SPECIAL = new Set(['connection', 'transfer-encoding', 'trailer', 'content-length'])

const createJudge = (edits: HeaderEdits | null) =>
  memoize(name => {
    const lower = name.toLowerCase()
    const isSpecial = SPECIAL.has(lower)
    const isDropped = (isDroppedFromResponses(name) && !isSpecial) || edits?.removes(name) === true
    return {
      lower,
      isDropped,
      isSpecial,
      isCors: isCors(name),
      isSetCookie: lower === 'set-cookie',
      isSession: lower === SESSION_HEADER,
    }
  })

const judgePlain = createJudge(null)
const edited = new WeakMap<HeaderEdits, typeof judgePlain>()

/** Removed names are dropped like others, so that edits cost nothing for each header. */
function judgeWith(edits: HeaderEdits | null): typeof judgePlain {
  if (edits === null) return judgePlain
  const judge = edited.get(edits) ?? createJudge(edits)
  edited.set(edits, judge)
  return judge
}

/**
 * Builds the client's response head from an upstream's raw head. Throws on a transfer coding that is not plain
 * `chunked`: the body would arrive in an unannounced coding.
 */
export function responseHead(raw: readonly string[], circumstances: ResponseCircumstances): ResponseHead {
  const { status, ours, passCors, mayTrail, edits, isPersonal } = circumstances
  const judge = judgeWith(edits)
  const headers: string[] = []
  const special: Record<string, string> = {}
  let dropped: ResponseHead['dropped'] = null
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    const { lower, isDropped, isSpecial, isCors, isSetCookie, isSession } = judge(name)
    if (isSession) dropped = 'session'
    if (isDropped || (isCors && !passCors)) continue
    const value = raw[i + 1]!
    if (isSetCookie && setsSessionCookie(value)) dropped = 'cookie'
    else if (isSpecial) special[lower] = special[lower] === undefined ? value : `${special[lower]},${value}`
    else if (ours[lower] === undefined || ADDING.has(lower)) headers.push(name, value)
  }
  const length = special['content-length']
  // RFC 9110 8.6: none with 204, nor with 101, after which a WebSocket begins.
  if (length !== undefined && status !== 204 && status !== 101) headers.push('Content-Length', length)
  const isChunked = requireChunked(special['transfer-encoding'])
  if (special.trailer !== undefined && isChunked && mayTrail) headers.push('Trailer', special.trailer)
  const named = namedByConnection(special.connection)
  const kept = named === null ? headers : withoutNamed(headers, named)
  if (edits !== null) kept.push(...edits.added)
  // Shared caches may keep a `Set-Cookie` of an answer that is public, and send it to others (RFC 9111 7.3). Ours has a session.
  const hasSession = ours['set-cookie'] !== undefined
  if (hasSession || (isPersonal && !speaksToSharedCaches(kept))) kept.push('Cache-Control', 'private')
  addOurs(kept, ours)
  return { headers: kept, hasLength: length !== undefined, dropped }
}

/**
 * Directives by which an answer is for all, or for no shared cache. `max-age` alone is neither: to a request with `Authorization` a
 * shared cache would not keep it (RFC 9111 3.5), and that this one proves who it is for, no cache can see.
 */
const FOR_SHARED_CACHES = /(?:^|,)[ \t]*(?:(?:public|private|no-store)[ \t]*(?:,|$)|s-maxage[ \t]*=)/i

function speaksToSharedCaches(headers: readonly string[]): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    if (judgePlain(headers[i]!).lower === 'cache-control' && FOR_SHARED_CACHES.test(headers[i + 1]!)) return true
  }
  return false
}

function withoutNamed(headers: readonly string[], named: ReadonlySet<string>): string[] {
  const kept: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    if (!named.has(headers[i]!.toLowerCase())) kept.push(headers[i]!, headers[i + 1]!)
  }
  return kept
}

function addOurs(headers: string[], ours: ResponseCircumstances['ours']): void {
  for (const name in ours) {
    const value = ours[name]
    if (Array.isArray(value)) for (const one of value) headers.push(name, one)
    else if (value !== undefined) headers.push(name, String(value))
  }
}

function requireChunked(coding: string | undefined): boolean {
  if (coding === undefined) return false
  if (coding.trim().toLowerCase() !== 'chunked') throw new Error('a response in a transfer coding other than chunked')
  return true
}

const EVENT_STREAM = /^[ \t]*text\/event-stream[ \t]*(?:;|$)/i

/** Whether an upstream's raw head is that of an event stream, which has no end of its own. */
export function beginsEventStream(raw: readonly string[]): boolean {
  for (let i = 0; i < raw.length; i += 2) {
    if (judgePlain(raw[i]!).lower === 'content-type') return EVENT_STREAM.test(raw[i + 1]!)
  }
  return false
}

/** The values of `X-Dualgate-Session` in an upstream's raw head. */
export const sessionsIn = (raw: readonly string[]): string[] =>
  raw.filter((_, i) => i % 2 === 1 && raw[i - 1]!.toLowerCase() === SESSION_HEADER)

/** The trailer fields that may follow, as name and value pairs. */
export function responseTrailers(raw: readonly string[], edits: HeaderEdits | null): [string, string][] {
  const trailers: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    if (isDroppedFromResponses(name) || HEAD_ONLY.test(name.toLowerCase()) || edits?.removes(name)) continue
    trailers.push([name, raw[i + 1]!])
  }
  return trailers
}
