import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { listenPrivately } from './private-socket.ts'

export type Address = { host: string; port: number } | { path: string }

/**
 * Connections that may wait to be accepted, as far as the system allows: all clients may connect at once after a
 * restart.
 */
const BACKLOG = 4096

/**
 * Opens a listener and answers its URL, or `unix:` and the path. Fastify's own way would write a line for each of the
 * machine's addresses into the log, in every worker.
 */
export async function listen(app: FastifyInstance, address: Address): Promise<string> {
  await app.ready()
  const { server } = app
  if ('path' in address) {
    await listenPrivately(server, address.path)
    return `unix:${address.path}`
  }
  const listening = once(server, 'listening')
  server.listen({ host: address.host, port: address.port, backlog: BACKLOG })
  await listening
  return urlOf(server.address() as AddressInfo, 'setSecureContext' in server ? 'https' : 'http')
}

function urlOf({ address, family, port }: AddressInfo, protocol: string): string {
  const host = address === '0.0.0.0' || address === '::' ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
  return `${protocol}://${host}:${port}`
}
