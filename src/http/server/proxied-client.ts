import type { IncomingMessage } from 'node:http'
import { createAddressList, isAddress } from '../../gate/address-list.ts'
import type { OwnOrigins } from '../../gate/cross-origin.ts'
import { networkOf } from '../../login/protection/network.ts'

/** The client of a request that a proxy asks about. */
export interface ProxiedClient {
  /** `null` where it is not known. */
  address: string | null
  /** What its requests are counted by. All that a proxy names by something else than an address are one client. */
  network: string | null
  /** Where the client believes to be. */
  own: OwnOrigins
}

/**
 * The client of a request that a proxy asks about, as `X-Forwarded-For`, `-Proto` and `-Host` name it. Only a proxy in
 * `trustedProxies` is believed, and addresses from the end on: what stands before an address that is not a trusted proxy could
 * be the client's own invention.
 */
export function createProxiedClient(trustedProxies: readonly string[]): (request: IncomingMessage) => ProxiedClient {
  const isTrusted = createAddressList(trustedProxies)
  return ({ socket, headers }) => {
    const { host = '' } = headers
    if (!isTrusted(socket.remoteAddress ?? '')) return { address: null, network: null, own: { protocol: 'http', host } }
    const named = String(headers['x-forwarded-for'] ?? '').split(',')
    let client = ''
    for (let i = named.length - 1; i >= 0; i--) {
      client = named[i]!.trim()
      if (!isTrusted(client)) break
    }
    return {
      address: isAddress(client) ? client : null,
      network: client === '' ? null : networkOf(client),
      own: {
        protocol: lastOf(headers['x-forwarded-proto']) ?? 'http',
        host: lastOf(headers['x-forwarded-host']) ?? host,
      },
    }
  }
}

const lastOf = (value: string | string[] | undefined): string | undefined =>
  String(value ?? '')
    .split(',')
    .at(-1)!
    .trim() || undefined
