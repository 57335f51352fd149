import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { isHost } from './host.ts'

const SLASH = 0x2f

/**
 * The target of a request as the rest of the gateway reads it: one in absolute form for our own authority in origin form
 * (RFC 9112 3.2.2), every other one as it is, and so refused where it is no path. The router, the gate and the forwarding
 * all get this one.
 *
 * Our own authority is, byte for byte, the value of a valid `Host`, after the scheme of the connection itself in lower case:
 * no user, no other port, and no default one that is written in one place only. A path has to follow. What a proxy in front
 * reports about scheme or host does not count.
 */
export function originFormOf({ url = '', headers: { host }, socket }: IncomingMessage): string {
  if (url.charCodeAt(0) === SLASH || host === undefined || !isHost(host)) return url
  const own = `${(socket as Partial<TLSSocket>).encrypted === true ? 'https' : 'http'}://${host}`
  return url.startsWith(own) && url.charCodeAt(own.length) === SLASH ? url.slice(own.length) : url
}
