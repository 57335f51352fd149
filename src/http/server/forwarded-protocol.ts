import type { IncomingMessage } from 'node:http'

/**
 * Leaves in `X-Forwarded-Proto` the schemes of HTTP alone. Of the handshake of a WebSocket Traefik writes `wss` or `ws`, but the
 * page that opens it has an origin of `https` or `http`, and so has the address of the gateway.
 */
export function nameHttp({ headers }: IncomingMessage): void {
  const written = headers['x-forwarded-proto']
  if (typeof written === 'string') headers['x-forwarded-proto'] = written.replace(/\bws(?=s?\b)/gi, 'http')
}
