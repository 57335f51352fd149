import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { UpstreamSettings } from '../settings/schema/upstreams.ts'
import { readUpstreamTls } from '../settings/tls.ts'
import { checkOnce } from './health-checks.ts'
import { readAddress } from './target-address.ts'
import { createConnect } from './wire/connect.ts'

/**
 * Whether a gateway could use a target: `null`, or the fault. A target with health checks is asked as they ask; of another
 * one, a connection is enough, with TLS where it has TLS. Connecting and what follows each end within `limit` milliseconds, and within
 * the limits of the upstream.
 */
export function probeTarget(url: string, upstream: UpstreamSettings, limit: number): Promise<Error | null> {
  const { health, timeouts } = upstream
  const tls = upstream.tls === undefined ? {} : readUpstreamTls(upstream.tls)
  const address = readAddress(url)
  const timeout = Math.min(limit, health?.timeout ?? timeouts.connect)
  const connect = createConnect(address, timeout, tls)
  return new Promise(resolve => {
    if (health === undefined) {
      connect((fault, socket) => resolve(fault ?? verdictOf(socket!, timeout)))
      return
    }
    const connection = checkOnce({ connect, authority: address.authority, path: health.path, timeout }, fault => {
      resolve(fault)
      connection.close()
    })
  })
}

/**
 * What the target says of the certificate of the gateway, or of a missing one: with TLS 1.3 it judges that when for the gateway the
 * handshake is over. With a ticket for the next session, it accepts the connection. One that says nothing within `limit`
 * milliseconds counts as one that does.
 */
function verdictOf(socket: Socket, limit: number): Promise<Error | null> {
  return new Promise<Error | null>(resolve => {
    const hasJudged = !(socket instanceof TLSSocket) || socket.getProtocol() !== 'TLSv1.3'
    if (hasJudged) return resolve(null)
    const timer = setTimeout(resolve, limit, null)
    socket.once('session', () => resolve(null)).on('error', resolve)
    socket.once('close', () => {
      clearTimeout(timer)
      resolve(new Error('closed after the TLS handshake'))
    })
  }).finally(() => socket.destroy())
}
