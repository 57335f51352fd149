import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { UpstreamTls } from '../../config/tls.ts'
import type { TargetAddress } from '../address.ts'

/** Opens a connection to a target; tells either the socket, ready to be written to, or why there is none. */
export type Connect = (done: (...outcome: [Error, null] | [null, Socket]) => void) => Socket

/** Idle connections are probed by the system after this long, in milliseconds. */
const KEEP_ALIVE_PROBE = 60_000

/** A connection that was not there in time. */
export class ConnectTimeout extends Error {
  readonly code = 'CONNECT_TIMEOUT'

  constructor(limit: number) {
    super(`no connection after ${limit} ms`)
    this.name = 'ConnectTimeout'
  }
}

/**
 * Connects to one target, within `limit` milliseconds, TLS included. A name is looked up every time. Certificates are
 * verified against the target's own name, or the one that is configured, and never against one that a client chose.
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
      // What else goes wrong with a socket that failed is nobody's business.
      if (error !== null) socket.on('error', () => {}).destroy()
      if (error === null) done(null, socket)
      else done(error, null)
    }
    const onConnected = (): void => settle(null)
    const onClosed = (): void => settle(new Error('closed while connecting'))
    const timer = setTimeout(
      // After a stall of this process, what has arrived meanwhile is looked at first.
      () => setImmediate(() => socket.listenerCount(event) > 0 && settle(new ConnectTimeout(limit))),
      limit,
    )
    return socket.once(event, onConnected).once('error', settle).once('close', onClosed)
  }
}

const placeOf = ({ socketPath, hostname, port }: TargetAddress) =>
  socketPath === null ? { host: hostname, port } : { path: socketPath }

function openSecure(address: TargetAddress, { ca, cert, key, serverName }: UpstreamTls): () => Socket {
  const name = serverName ?? address.hostname
  const options = {
    ...placeOf(address),
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
    // RFC 6066 3: an address is no server name; it is verified as the host.
    ...(isIP(name) === 0 && { servername: name }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && key !== undefined && { cert, key }),
  }
  /** The latest session: the next connection resumes it. */
  let session: Buffer | undefined
  return () =>
    connectTls({ ...options, ...(session !== undefined && { session }) }).on('session', latest => {
      session = latest
    })
}
