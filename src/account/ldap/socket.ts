import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import { hostOf } from '../../base/url-host.ts'

/** A server of a directory, and how to know that it is the right one. */
export interface DirectoryServer {
  /** As the settings have it: `ldaps://dc1.example.com`. */
  url: string
  host: string
  port: number
  /** Whether the first bytes are TLS already; otherwise StartTLS follows (RFC 4511, 4.14). */
  isTls: boolean
  /** The trusted authorities as PEM text; those of the system where it is absent. */
  ca: string | undefined
}

export function readServer(url: string, ca?: string): DirectoryServer {
  const read = new URL(url)
  const isTls = read.protocol === 'ldaps:'
  const port = read.port === '' ? (isTls ? 636 : 389) : Number(read.port)
  return { url, host: hostOf(read), port, isTls, ca }
}

/** After so long without traffic the system asks whether the server is still there, in milliseconds. */
const KEEP_ALIVE = 60_000

/** Fails when `signal` aborts, and then closes the connection. */
export async function openSocket({ host, port }: DirectoryServer, signal: AbortSignal): Promise<Socket> {
  const socket = connectTcp({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE })
  await ready(socket, 'connect', signal)
  return socket
}

/** TLS on a connection, with a server that proves to be the right one. Its certificate is verified whatever the environment says. */
export async function secure(server: DirectoryServer, socket: Socket, signal: AbortSignal): Promise<TLSSocket> {
  const { host, ca } = server
  const options: ConnectionOptions = {
    socket,
    host,
    // A name only: an address is no name of a server (RFC 6066, 3), and is found in the certificate all the same.
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca }),
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  }
  const secured = connectTls(options)
  try {
    await ready(secured, 'secureConnect', signal)
  } catch (fault) {
    socket.destroy()
    throw fault
  }
  return secured
}

async function ready(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<void> {
  // An error after the last listener would end the process.
  socket.on('error', () => undefined)
  const giveUp = (): void => void socket.destroy()
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    if (signal.aborted) throw signal.reason
    await new Promise<void>((resolve, reject) => {
      socket.once(event, resolve)
      socket.once('error', reject)
      socket.once('close', () => reject(new Error('the connection was closed')))
    })
  } catch (fault) {
    socket.destroy()
    // Of a name with several addresses, whose fault as a whole has no text.
    throw fault instanceof AggregateError ? (fault.errors.at(-1) ?? fault) : fault
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}
