import { BlockList, isIP } from 'node:net'

/** Whether a list of addresses and CIDR ranges contains an address. What is not an address is in no list. */
export type AddressList = (address: string) => boolean

export function createAddressList(ranges: readonly string[]): AddressList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    if (bits === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(bits), familyOf(address))
  }
  return written => {
    const address = withoutZone(written)
    return isIP(address) !== 0 && list.check(address, familyOf(address))
  }
}

/** Whether a text is an address: a proxy in front may name its client by something else. */
export const isAddress = (written: string): boolean => isIP(withoutZone(written)) !== 0

/** A link-local address may have a zone, which no list contains. */
const withoutZone = (written: string): string => written.split('%', 1)[0]!

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6')
