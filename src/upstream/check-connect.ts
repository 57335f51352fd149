import type { UpstreamSettings } from '../settings/schema/upstreams.ts'
import { readUpstreamTls } from '../settings/tls.ts'
import { checkOnce } from './health-checks.ts'
import { readAddress } from './target-address.ts'
import { createConnect } from './wire/connect.ts'

/**
 * Whether a gateway could use a target: `null`, or the fault. A target with health checks is asked as they ask; of another
 * one, a connection is enough, with TLS where it has TLS. Ends within `limit` milliseconds, and within the limits of the
 * upstream.
 */
export function probeTarget(url: string, upstream: UpstreamSettings, limit: number): Promise<Error | null> {
  const { health, timeouts } = upstream
  const tls = upstream.tls === undefined ? {} : readUpstreamTls(upstream.tls)
  const address = readAddress(url)
  const timeout = Math.min(limit, health?.timeout ?? timeouts.connect)
  const connect = createConnect(address, timeout, tls)
  return new Promise(resolve => {
    if (health === undefined) {
      connect((fault, socket) => {
        socket?.destroy()
        resolve(fault)
      })
      return
    }
    const connection = checkOnce({ connect, authority: address.authority, path: health.path, timeout }, fault => {
      resolve(fault)
      connection.close()
    })
  })
}
