import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { reservedForm } from '../../base/header-names.ts'
import { Refusal } from '../../base/refusal.ts'
import { ownOrigin } from '../../gate/cross-origin.ts'
import type { Upgrade } from '../server/upgrade.ts'

/* The opening handshake of RFC 6455, as a server reads it (4.2.1) and as a client checks its answer (4.1). */

const badRequest = (fault: string): Refusal => new Refusal('BAD_REQUEST', { params: { fault } })

/** 16 bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/
const KEY_SALT = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Refuses an invalid handshake, or one with two tokens. `tokenHeader` carries the token of other requests. */
export function refuseMalformed({ headers }: IncomingMessage, { tokens }: Upgrade, tokenHeader: string): void {
  if (tokens.length + (headers[tokenHeader] === undefined ? 0 : 1) > 1) throw badRequest('more than one token')
  if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0) {
    throw badRequest('a handshake with a body')
  }
  if (headers['sec-websocket-version'] !== '13') throw badRequest('not version 13 of the WebSocket protocol')
  if (!KEY.test(headers['sec-websocket-key'] ?? '')) throw badRequest('no Sec-WebSocket-Key')
}

/**
 * Refuses pages of other origins: their visitors did not mean to call this gateway (RFC 6455 10.2). Clients that are no
 * browser send no `Origin`. `host` is the host that the client requested.
 */
export function refuseForeignOrigin({ headers }: IncomingMessage, host: string, allowed?: readonly string[]): void {
  const { origin } = headers
  if (origin === undefined) return
  const isAllowed = allowed === undefined ? isOfHost(origin, host) : allowed.includes(origin)
  if (!isAllowed) throw new Refusal('ORIGIN_NOT_ALLOWED')
}

/** Of either scheme: TLS may end before us. */
function isOfHost(origin: string, host: string): boolean {
  const [, protocol, named = ''] = /^(https?):\/\/([^/]+)$/i.exec(origin) ?? []
  return protocol !== undefined && ownOrigin({ protocol, host: named }) === ownOrigin({ protocol, host })
}

/**
 * The headers of the handshake with the upstream: those of any request, the client's key and sub-protocols among them, and
 * no extensions: compressed frames could not be told from others.
 */
export function handshakeHeaders(headers: readonly string[]): string[] {
  const kept: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    if (reservedForm(headers[i]!) !== 'sec-websocket-extensions') kept.push(headers[i]!, headers[i + 1]!)
  }
  kept.push('connection', 'Upgrade', 'upgrade', 'websocket')
  return kept
}

/** The fault of an upstream's 101; `null` if it is valid. */
export function faultOfAcceptance(asked: IncomingMessage, { statusCode, headers }: IncomingMessage): string | null {
  if (statusCode !== 101) return 'a switch of protocols with another status'
  if (headers.upgrade?.toLowerCase() !== 'websocket') return 'a switch to another protocol'
  if (headers['sec-websocket-accept'] !== acceptOf(asked.headers['sec-websocket-key'] ?? '')) {
    return 'not the answer to this handshake'
  }
  if (headers['sec-websocket-extensions'] !== undefined) return 'an extension that the client did not offer'
  const chosen = headers['sec-websocket-protocol']
  const offered = asked.headers['sec-websocket-protocol']?.split(',').map(name => name.trim()) ?? []
  return chosen === undefined || offered.includes(chosen) ? null : 'a sub-protocol that the client did not offer'
}

const acceptOf = (key: string): string =>
  createHash('sha1')
    .update(key + KEY_SALT)
    .digest('base64')
