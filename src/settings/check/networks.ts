import { BlockList, isIP } from 'node:net'
import { memoize } from '../../base/memoize.ts'
import { hostOf } from '../../base/url-host.ts'
import { readDatabaseAddress } from '../database-address.ts'

/* What the address of a server tells about the way to it. */

export const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127\./.test(host)

/** RFC 1918, 4193, 6598, 3927 and the loopback: what is sent there stays in the operator's own networks. */
const PRIVATE = new BlockList()
for (const [net, bits] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['127.0.0.0', 8],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
] as const)
  PRIVATE.addSubnet(net, bits)
for (const [net, bits] of [
  ['fc00::', 7],
  ['fe80::', 10],
  ['::1', 128],
] as const)
  PRIVATE.addSubnet(net, bits, 'ipv6')

/** A name without a dot, or with one of these endings, is one of a private network. */
const PRIVATE_NAME = /^[^.]+$|\.(local|localhost|internal|lan|home\.arpa|svc|test)$/i

/** Many upstreams may have few hosts. */
const isPublicHost = memoize(host => {
  const version = isIP(host)
  if (version === 0) return !PRIVATE_NAME.test(host)
  return !PRIVATE.check(host, version === 4 ? 'ipv4' : 'ipv6')
})

/** Whether a URL has a scheme without encryption, and leads to a host from which others are not kept away. */
export function isUnencrypted(
  text: string | undefined,
  scheme: string,
  isSafe: (host: string) => boolean = host => !isPublicHost(host),
): boolean {
  if (text === undefined || !URL.canParse(text)) return false
  const url = new URL(text)
  return url.protocol === scheme && !isSafe(hostOf(url))
}

/** Whether a database on a public host is read without TLS that proves who it is. */
export function isUnverifiedDatabase(text: string): boolean {
  const { host, tls } = readDatabaseAddress(text)
  return isPublicHost(host) && tls?.verify !== true
}

/** A name without a dot is one of a container network, which only its own containers reach. */
export function isOpenRedis(text: string | undefined): boolean {
  if (text === undefined || !URL.canParse(text)) return false
  const url = new URL(text)
  const host = hostOf(url)
  return url.password === '' && !isLoopback(host) && (host.includes('.') || host.includes(':'))
}
