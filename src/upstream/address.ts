import { isIP } from 'node:net'

/** The address of a target, parsed once from its URL. */
export interface TargetAddress {
  /** Its name in log lines and `/readyz`. */
  readonly url: string
  /** Host and port, as in a `Host` header. */
  readonly authority: string
  /** A name or an address, without brackets. */
  readonly hostname: string
  readonly port: number
  /** The Unix socket, for a target that has one instead of host and port. */
  readonly socketPath: string | null
  readonly isSecure: boolean
  /** Whether the host is a name, whose address may change. */
  readonly isName: boolean
}

const UNIX = 'unix:'

/** Throws on an invalid URL. */
export function readAddress(url: string): TargetAddress {
  if (url.startsWith(UNIX)) {
    const socketPath = url.slice(UNIX.length)
    return { url, authority: 'localhost', hostname: 'localhost', port: 80, socketPath, isSecure: false, isName: false }
  }
  const { origin, protocol, host, hostname: written, port } = new URL(url)
  const isSecure = protocol === 'https:'
  const hostname = written.replace(/^\[|\]$/g, '')
  return {
    url: origin,
    authority: host,
    hostname,
    port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    socketPath: null,
    isSecure,
    isName: isIP(hostname) === 0,
  }
}
