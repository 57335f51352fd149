import type { IncomingMessage, ServerResponse } from 'node:http'
import { isPlainLength } from '../../base/header-names.ts'
import { Refusal } from '../../base/refusal.ts'
import type { Verdict } from '../../gate/rules.ts'
import { connectionOf } from './connection/connection.ts'
import { isHost } from './host.ts'

const MAX_HEADER_LINES = 200

/** The methods that are served and forwarded. */
export const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

const badRequest = (fault: string): Refusal => new Refusal('BAD_REQUEST', { params: { fault } })

/**
 * Refuses ambiguous requests, which two parsers could read differently, and those that Node would truncate silently: a
 * doubled `Host`, `Authorization` or token header, an unknown expectation, a body on a request that passes without a
 * session only because of its method, more header lines than are checked.
 */
export function refuseAmbiguous(request: IncomingMessage, tokenHeader: string, verdict: Verdict | null): void {
  const { rawHeaders, headers } = request
  if (rawHeaders.length > 2 * MAX_HEADER_LINES) throw new Refusal('HEADERS_TOO_LARGE')
  refuseDoubled(rawHeaders, tokenHeader)
  // RFC 9110 10.1.1.
  const { expect } = headers
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') throw badRequest('an unknown expectation')
  if (
    verdict?.rule.carries === 'nothing' &&
    (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
  ) {
    throw badRequest('OPTIONS with a body')
  }
}

/**
 * Refuses, before anything else is read, a `Host` in another form than clients send, and a request of HTTP/1.1 without a
 * `Host` (RFC 9110 7.2). `host` is the client's as a trusted proxy reports it, or the same `Host`.
 */
export function refuseInvalid({ headers, httpVersion }: IncomingMessage, host: string): void {
  const { host: own } = headers
  if (own === undefined && httpVersion === '1.1') throw badRequest('no Host header')
  if (own !== undefined && !isHost(own)) throw badRequest('an invalid Host')
  if (host !== '' && host !== own && !isHost(host)) throw badRequest('an invalid X-Forwarded-Host')
}

/** Refuses a target that is no path, such as one in absolute form for another authority. */
export function refuseForeignTarget({ url = '' }: IncomingMessage): void {
  if (!url.startsWith('/')) throw badRequest('a target that is no path')
}

/** Refuses a `Host`, an `Authorization` or a token header that occurs twice. */
export function refuseDoubled(rawHeaders: readonly string[], tokenHeader: string): void {
  let hosts = 0
  let tokens = 0
  let authorizations = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    // The length is checked first: most names have another length, and lower-casing each would cost more than the rest.
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
    else if (name.length === 13 && name.toLowerCase() === 'authorization') authorizations++
    else if (name.length === tokenHeader.length && name.toLowerCase() === tokenHeader) tokens++
  }
  if (hosts > 1) throw badRequest('more than one Host header')
  if (authorizations > 1 || tokens > 1) throw badRequest('more than one Authorization header')
}

/**
 * Refuses framing of other kinds than a plain `Content-Length` or `chunked`, and versions that have neither. The end of such
 * a request is not clear, so nothing after it on the connection is served, and the connection is closed (RFC 9112 6.1, 6.3).
 */
export function refuseMisframed(request: IncomingMessage, response: ServerResponse): void {
  const { headers, httpVersion, socket } = request
  const { 'transfer-encoding': coding, 'content-length': length } = headers
  if (coding === undefined && httpVersion === '1.1' && (length === undefined || isPlainLength(length))) return
  const fault = faultOfFraming(httpVersion, coding, length)
  if (fault === null) return
  response.shouldKeepAlive = false
  connectionOf(socket)?.closeAfter(response)
  throw fault
}

function faultOfFraming(version: string, coding: string | undefined, length: string | undefined): Refusal | null {
  if (version !== '1.1' && version !== '1.0') return badRequest('not HTTP/1.1')
  if (length !== undefined && !isPlainLength(length)) return badRequest('an invalid Content-Length')
  if (coding === undefined) return null
  if (version === '1.0') return badRequest('chunked in HTTP/1.0')
  return coding.toLowerCase() === 'chunked' ? null : new Refusal('UNSUPPORTED_TRANSFER_CODING')
}
