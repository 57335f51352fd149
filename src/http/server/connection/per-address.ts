import type { Server } from 'node:http'
import { BlockList, isIPv6, type Socket } from 'node:net'
import { networkOf } from '../../../login/protection/network.ts'

export interface PerAddress {
  /** Connections that one client address may hold; of IPv6 a /64 is one. */
  limit: number
  /** Addresses and ranges that hold connections of many clients. */
  trustedProxies: readonly string[]
  /** Receives the address, or /64, of every connection that was closed. */
  onClosed(network: string): void
}

/** Closes connections of a client address beyond its limit, so that one client cannot take them from the others. */
export function limitPerAddress(server: Server, { limit, trustedProxies, onClosed }: PerAddress): void {
  // An IPv4 address may be written as IPv6 (`::ffff:10.0.0.1`); the list compares it as IPv4.
  const exempt = listOf(trustedProxies)
  const counts = new Map<string, number>()
  // The connection below TLS: one that never shakes hands counts as well.
  server.on('connection', (socket: Socket) => {
    const { remoteAddress, remoteFamily } = socket
    if (remoteAddress === undefined || exempt.check(remoteAddress, remoteFamily === 'IPv6' ? 'ipv6' : 'ipv4')) return
    const network = networkOf(remoteAddress)
    const count = counts.get(network) ?? 0
    if (count >= limit) {
      onClosed(network)
      socket.destroy()
      return
    }
    counts.set(network, count + 1)
    socket.once('close', () => {
      const left = counts.get(network)! - 1
      if (left === 0) counts.delete(network)
      else counts.set(network, left)
    })
  })
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}
