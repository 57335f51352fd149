import { isIP } from 'node:net'
import { hostOf } from '../base/url-host.ts'
import { UNIX } from '../settings/targets.ts'

/** The address of a target, parsed once from its URL. */
export interface TargetAddress {
  /** Its name in log lines and `/readyz`. */
  readonly url: string
  /** Host and port, as in a `Host` header. */
  readonly authority: string
  /** A name or an address, without brackets. */
  readonly hostname: string
  /** The one address of the name that it stands for; `null` for the host itself. */
  readonly ip: string | null
  readonly port: number
  /** The Unix socket, for a target that has one instead of host and port. */
  readonly socketPath: string | null
  readonly isSecure: boolean
  /** Whether the host is a name, whose address may change. */
  readonly isName: boolean
}

/** Throws on an invalid URL. With `ip` it is one address of its name: TLS and `Host` still use the name. */
export function readAddress(url: string, ip: string | null = null): TargetAddress {
  if (url.startsWith(UNIX)) {
    const socketPath = url.slice(UNIX.length)
    const host = { authority: 'localhost', hostname: 'localhost', ip: null, port: 80 }
    return { url, ...host, socketPath, isSecure: false, isName: false }
  }
  const read = new URL(url)
  const { origin, protocol, host, port } = read
  const isSecure = protocol === 'https:'
  const hostname = hostOf(read)
  return {
    url: ip === null ? origin : `${origin} (${ip})`,
    authority: host,
    hostname,
    ip,
    port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    socketPath: null,
    isSecure,
    isName: ip === null && isIP(hostname) === 0,
  }
}
