import type { IncomingMessage } from 'node:http'
import { createAddressList, isAddress } from '../../gate/address-list.ts'

/**
 * The client of a request that a proxy asks about, as `X-Forwarded-For` names it; `null` where that is not known. Only a
 * proxy in `trustedProxies` is believed, and from the end on: what stands before an address that is not a trusted proxy could be
 * the client's own invention.
 */
export function createProxiedClient(trustedProxies: readonly string[]): (request: IncomingMessage) => string | null {
  const isTrusted = createAddressList(trustedProxies)
  return ({ socket, headers }) => {
    if (!isTrusted(socket.remoteAddress ?? '')) return null
    const named = String(headers['x-forwarded-for'] ?? '').split(',')
    let client = ''
    for (let i = named.length - 1; i >= 0; i--) {
      client = named[i]!.trim()
      if (!isTrusted(client)) break
    }
    return isAddress(client) ? client : null
  }
}
