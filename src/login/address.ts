import { isIP } from 'node:net'

/**
 * The key that attempts are counted by: an IPv4 address, or the /64 of an IPv6 address, because a client usually has a
 * whole /64 and could use another address each time. An IPv4 address written as IPv6 counts as the IPv4 address.
 */
export function networkOf(address: string | undefined): string {
  const plain = plainAddress(address)
  return isIP(plain) === 6 ? prefixOf(plain, 64) : plain.slice(0, 64)
}

/**
 * The surrounding network, for clients with many addresses: the /24 of an IPv4 address, the /48 of an IPv6 address, the
 * usual size for a site (RFC 6177). `null` if the text is not an address, such as the name of a socket.
 */
export function siteOf(address: string | undefined): string | null {
  const plain = plainAddress(address)
  if (isIP(plain) === 6) return prefixOf(plain, 48)
  return isIP(plain) === 4 ? `${plain.slice(0, plain.lastIndexOf('.'))}.0/24` : null
}

/**
 * An address without its zone. An IPv4 address in IPv6 form is converted. A connection that has ended has no address.
 */
function plainAddress(address = ''): string {
  const plain = address.split('%', 1)[0] ?? ''
  if (isIP(plain) !== 6) return plain
  const groups = groupsOf(plain)
  if (groups.slice(0, 5).some(group => group !== 0) || groups[5] !== 0xffff) return plain
  return groups
    .slice(6)
    .flatMap(group => [group >> 8, group & 255])
    .join('.')
}

/** The first bits of an IPv6 address, whole groups of 16. */
const prefixOf = (address: string, bits: 48 | 64): string =>
  `${groupsOf(address)
    .slice(0, bits / 16)
    .map(group => group.toString(16))
    .join(':')}::/${bits}`

/** The eight groups of an IPv6 address; the last two may be written as an IPv4 address (RFC 4291, 2.2). */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.replace(/[^:]*\.[^:]*$/, asGroups).split('::')
  const read = (part: string): number[] => (part === '' ? [] : part.split(':').map(group => Number.parseInt(group, 16)))
  if (tail === undefined) return read(head)
  const zeros = 8 - read(head).length - read(tail).length
  return [...read(head), ...Array.from({ length: zeros }, () => 0), ...read(tail)]
}

function asGroups(dotted: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number)
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
}
