import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * What attempts are counted by: an IPv4 address, or the /64 of an IPv6 address, since a client has a whole /64 and could use
 * another address of it each time. An IPv4 address written as IPv6 is the IPv4 address. All that is not an address counts
 * as one client, `''`, because it could have another text each time; so does a connection that has ended meanwhile.
 */
export function networkOf(address = ''): string {
  const parsed = parse(address)
  if (parsed === null) return ''
  return parsed instanceof ipaddr.IPv6 ? prefixOf(parsed, 64) : parsed.toString()
}

/**
 * The network around it, for clients with many addresses: the /24 of an IPv4 address, the /48 of an IPv6 address, which is
 * what a site gets (RFC 6177). `null` for what is not an address.
 */
export function siteOf(address = ''): string | null {
  const parsed = parse(address)
  if (parsed === null) return null
  return parsed instanceof ipaddr.IPv6 ? prefixOf(parsed, 48) : `${parsed.octets.slice(0, 3).join('.')}.0/24`
}

/** `isIP` first: the library also accepts an IPv4 address in octal, in hex and as one number. A zone is left out. */
function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const plain = address.split('%', 1)[0]!
  return isIP(plain) === 0 ? null : ipaddr.process(plain)
}

/** The first bits of an IPv6 address, whole groups of 16. */
const prefixOf = ({ parts }: ipaddr.IPv6, bits: 48 | 64): string =>
  `${parts
    .slice(0, bits / 16)
    .map(group => group.toString(16))
    .join(':')}::/${bits}`
