import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'

export type Address = { host: string; port: number } | { path: string }

/**
 * Opens a listener and answers its URL, or `unix:` and the path. Fastify's own way would write a line for each of the
 * machine's addresses into the log, in every worker.
 */
export async function listen(app: FastifyInstance, address: Address): Promise<string> {
  await app.ready()
  const { server } = app
  const listening = once(server, 'listening')
  server.listen('path' in address ? { path: address.path } : { host: address.host, port: address.port })
  await listening
  if ('path' in address) return `unix:${address.path}`
  return urlOf(server.address() as AddressInfo, 'setSecureContext' in server ? 'https' : 'http')
}

function urlOf({ address, family, port }: AddressInfo, protocol: string): string {
  const host = address === '0.0.0.0' || address === '::' ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
  return `${protocol}://${host}:${port}`
}
