import type { IncomingHttpHeaders } from 'node:http'

/* Whether a request that a browser sends with a cookie was meant by its user: no page of another origin may write with it. */

export interface OwnOrigins {
  /** `http` or `https`, and the host that the client requested. */
  readonly protocol: string
  readonly host: string
}

/** Methods that change nothing (RFC 9110 9.2.1). */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether a request has to prove where it comes from: it may change something, or opens a WebSocket. */
export const isWrite = (method: string, isHandshake: boolean): boolean => isHandshake || !SAFE.has(method)

/**
 * Whether a page of another origin may have caused a request. `Sec-Fetch-Site` decides, which no page can set; without it the
 * `Origin`; without both it is unknown, and counts as another. `origins` are those that are allowed besides.
 */
export function isCrossOrigin(headers: IncomingHttpHeaders, own: OwnOrigins, origins: ReadonlySet<string>): boolean {
  const { origin } = headers
  const site = headers['sec-fetch-site']
  if (site === 'same-origin' || site === 'none') return false
  if (origin === undefined) return true
  if (origins.has(origin)) return false
  return site !== undefined || origin !== ownOrigin(own)
}

const DEFAULT_PORT = /(?<=^http:\/\/.*):80$|(?<=^https:\/\/.*):443$/

/** As browsers write an origin: in lower case, without the port of its scheme. */
export const ownOrigin = ({ protocol, host }: OwnOrigins): string =>
  `${protocol}://${host}`.toLowerCase().replace(DEFAULT_PORT, '')
