import type { IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'

/**
 * Leaves in `X-Forwarded-For` the addresses alone. Some proxies write the port of their client behind its address, and an IPv6
 * address in brackets: each connection would count as another client, and a proxy would not be recognized as trusted.
 */
export function removePorts({ headers }: IncomingMessage): void {
  const written = headers['x-forwarded-for']
  if (typeof written !== 'string' || !HAS_PORT_OR_BRACKETS.test(written)) return
  headers['x-forwarded-for'] = written
    .split(',')
    .map(one => addressIn(one.trim()))
    .join(', ')
}

/**
 * Keeps the address of the client of a request. Fastify compares every address of `X-Forwarded-For` with the trusted proxies
 * whenever `ip` is read: of 15 KB of trusted ones, that is milliseconds each time.
 */
export function keepAddress(request: FastifyRequest): void {
  if (request.raw.headers['x-forwarded-for'] !== undefined) Object.defineProperty(request, 'ip', { value: request.ip })
}

/** A quick answer, because nearly no proxy writes them. */
const HAS_PORT_OR_BRACKETS = /\[|\.\d+:/
const IPV4_WITH_PORT = /^([\d.]+):\d+$/
const IPV6_IN_BRACKETS = /^\[([^\]]+)\](?::\d+)?$/

/** The address of a text without its port and brackets; a text of another form as it is. */
function addressIn(text: string): string {
  const ipv4 = IPV4_WITH_PORT.exec(text)?.[1] ?? ''
  if (isIPv4(ipv4)) return ipv4
  const ipv6 = IPV6_IN_BRACKETS.exec(text)?.[1] ?? ''
  return isIPv6(ipv6) ? ipv6 : text
}
