import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { isHost } from './host.ts'

const SLASH = 0x2f

/**
 * The target of a request as the rest of the gateway reads it: one in absolute form for our own authority in origin
 * form (RFC 9112 3.2.2), every other one unchanged, so it is refused if it is not a path. Router, gate and forwarding
 * all use the result.
 *
 * Our own authority is, byte for byte, the value of a valid `Host`, after the scheme of the connection itself in lower
 * case: without a user, with the same port, and without a default port in only one of them. A path must follow. What a
 * proxy in front reports about scheme or host does not count.
 */
export function originFormOf({ url = '', headers: { host }, socket }: IncomingMessage): string {
  if (url.charCodeAt(0) === SLASH || host === undefined || !isHost(host)) return url
  const own = `${(socket as Partial<TLSSocket>).encrypted === true ? 'https' : 'http'}://${host}`
  return url.startsWith(own) && url.charCodeAt(own.length) === SLASH ? url.slice(own.length) : url
}
