import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { UpstreamTls } from '../../settings/tls.ts'
import type { TargetAddress } from '../target-address.ts'
import { sharedLookUp } from './shared-look-up.ts'

/** A connection that is being opened, or that was. */
export interface Opening {
  destroy(): void
}

/** Opens a connection to a target; reports either the socket, ready for writing, or the error. */
export type Connect = (done: (...outcome: [Error, null] | [null, Socket]) => void) => Opening

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
 * Connects to one target, within `limit` milliseconds, TLS included. A name is resolved every time, by `sharedLookUp`. Certificates are
 * verified against the target's own name or the configured one, never against a name from a client.
 */
export function createConnect(address: TargetAddress, limit: number, tls: UpstreamTls): Connect {
  const open: Open = address.isSecure ? openSecure(address, tls) : ip => connectTcp(placeOf(address, ip))
  const event = address.isSecure ? 'secureConnect' : 'connect'

  return done => {
    /** Those that may still succeed. */
    const attempts = new Set<Attempt>()
    let opened: Socket | null = null
    const giveUp = (): void => {
      clearTimeout(timer)
      for (const attempt of attempts) attempt.giveUp()
      attempts.clear()
    }
    const begin = (ip: string | null): void => {
      const attempt = new Attempt(open(ip), event, {
        onOpened: socket => {
          attempts.delete(attempt)
          giveUp()
          opened = socket
          done(null, socket)
        },
        onFailed: error => {
          attempts.delete(attempt)
          if (attempts.size > 0) return
          clearTimeout(timer)
          done(error, null)
        },
        onSlow: begin,
      })
      attempts.add(attempt)
    }
    const timer = setTimeout(
      // After a stall of this process, data that has arrived meanwhile is handled first.
      () =>
        setImmediate(() => {
          if (attempts.size === 0) return
          giveUp()
          done(new ConnectTimeout(limit), null)
        }),
      limit,
    )
    begin(address.ip)
    return { destroy: () => (opened === null ? giveUp() : void opened.destroy()) }
  }
}

/** Opens a connection to one address of the target, or to the first of its name that answers. */
type Open = (ip: string | null) => Socket

interface AttemptListener {
  onOpened(socket: Socket): void
  onFailed(error: Error): void
  /**
   * Node tries the next address of the name after a quarter of a second, and gives this one up. It may only be far away, or busy: it
   * has to be tried beside the others (RFC 8305 5), until the time is over.
   */
  onSlow(ip: string): void
}

/** A socket until it is connected. */
class Attempt {
  readonly #socket: Socket
  readonly #event: string
  readonly #listener: AttemptListener

  constructor(socket: Socket, event: string, listener: AttemptListener) {
    this.#socket = socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_PROBE)
    this.#event = event
    this.#listener = listener
    socket.once(event, this.#onOpened).once('error', this.#onFailed).once('close', this.#onClosed)
    socket.on('connectionAttemptTimeout', listener.onSlow)
  }

  #leave(): void {
    const { onSlow } = this.#listener
    this.#socket.off(this.#event, this.#onOpened).off('error', this.#onFailed).off('close', this.#onClosed)
    this.#socket.off('connectionAttemptTimeout', onSlow)
  }

  readonly #onOpened = (): void => {
    this.#leave()
    this.#listener.onOpened(this.#socket)
  }

  readonly #onFailed = (error: Error): void => {
    this.giveUp()
    this.#listener.onFailed(error)
  }

  readonly #onClosed = (): void => this.#onFailed(new Error('closed while connecting'))

  giveUp(): void {
    this.#leave()
    // Further errors of a failed socket are ignored.
    this.#socket.on('error', () => {}).destroy()
  }
}

const placeOf = ({ socketPath, hostname, port }: TargetAddress, ip: string | null) =>
  socketPath === null ? { host: ip ?? hostname, port, lookup: sharedLookUp } : { path: socketPath }

function openSecure(address: TargetAddress, { ca, cert, key, serverName }: UpstreamTls): Open {
  const name = serverName ?? address.hostname
  const options = {
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
    // RFC 6066 3: an address is not a server name; it is verified as the host.
    ...(isIP(name) === 0 && { servername: name }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && key !== undefined && { cert, key }),
  }
  /** The latest TLS session: the next connection resumes it. */
  let session: Buffer | undefined
  return ip =>
    connectTls({ ...placeOf(address, ip), ...options, ...(session !== undefined && { session }) }).on(
      'session',
      latest => {
        session = latest
      },
    )
}
