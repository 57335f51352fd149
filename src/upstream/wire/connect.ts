import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { UpstreamTls } from '../../settings/tls.ts'
import type { TargetAddress } from '../target-address.ts'

/** Opens a connection to a target; reports either the socket, ready for writing, or the error. */
export type Connect = (done: (...outcome: [Error, null] | [null, Socket]) => void) => Socket

/** The system probes idle connections after this time, in milliseconds. */
const KEEP_ALIVE_PROBE = 60_000

/** A connection that was not opened in time. */
export class ConnectTimeout extends Error {
  readonly code = 'CONNECT_TIMEOUT'

  constructor(limit: number) {
    super(`no connection after ${limit} ms`)
    this.name = 'ConnectTimeout'
  }
}

/**
 * Connects to one target, within `limit` milliseconds, TLS included. A name is resolved every time. Certificates are
 * verified against the target's own name or the configured one, never against a name from a client.
 */
export function createConnect(address: TargetAddress, limit: number, tls: UpstreamTls): Connect {
  const open = address.isSecure ? openSecure(address, tls) : () => connectTcp(placeOf(address))
  const event = address.isSecure ? 'secureConnect' : 'connect'

  return done => {
    const socket = open()
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_PROBE)
    const settle = (error: Error | null): void => {
      clearTimeout(timer)
      socket.off(event, onConnected).off('error', settle).off('close', onClosed)
      // Further errors of a failed socket are ignored.
      if (error !== null) socket.on('error', () => {}).destroy()
      if (error === null) done(null, socket)
      else done(error, null)
    }
    const onConnected = (): void => settle(null)
    const onClosed = (): void => settle(new Error('closed while connecting'))
    const timer = setTimeout(
      // After a stall of this process, data that has arrived meanwhile is handled first.
      () => setImmediate(() => socket.listenerCount(event) > 0 && settle(new ConnectTimeout(limit))),
      limit,
    )
    return socket.once(event, onConnected).once('error', settle).once('close', onClosed)
  }
}

const placeOf = ({ socketPath, hostname, ip, port }: TargetAddress) =>
  socketPath === null ? { host: ip ?? hostname, port } : { path: socketPath }

function openSecure(address: TargetAddress, { ca, cert, key, serverName }: UpstreamTls): () => Socket {
  const name = serverName ?? address.hostname
  const options = {
    ...placeOf(address),
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
    // RFC 6066 3: an address is not a server name; it is verified as the host.
    ...(isIP(name) === 0 && { servername: name }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && key !== undefined && { cert, key }),
  }
  /** The latest TLS session: the next connection resumes it. */
  let session: Buffer | undefined
  return () =>
    connectTls({ ...options, ...(session !== undefined && { session }) }).on('session', latest => {
      session = latest
    })
}
