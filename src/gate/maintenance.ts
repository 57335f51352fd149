import { BlockList, isIP } from 'node:net'

/** An upstream out of service. */
export interface Maintenance {
  /** Seconds, for the `Retry-After` header. */
  readonly retryAfter: number
  /** Whether a client with this address gets through. */
  admits(address: string): boolean
}

export interface MaintenanceSettings {
  /** Milliseconds. */
  retry_after: number
  /** Addresses and CIDR ranges. */
  allow: readonly string[]
}

export function createMaintenance({ retry_after, allow }: MaintenanceSettings): Maintenance {
  const allowed = new BlockList()
  for (const range of allow) {
    const [address = '', bits] = range.split('/')
    if (bits === undefined) allowed.addAddress(address, familyOf(address))
    else allowed.addSubnet(address, Number(bits), familyOf(address))
  }
  return {
    retryAfter: Math.ceil(retry_after / 1000),
    admits(written) {
      // A link-local address may have a zone, which the list does not know.
      const address = written.split('%', 1)[0]!
      return isIP(address) !== 0 && allowed.check(address, familyOf(address))
    },
  }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6')
