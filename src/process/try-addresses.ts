import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { Server } from 'node:net'
import { dirname } from 'node:path'
import { isSocket, listenPrivately, removeDeadSocket } from '../http/server/private-socket.ts'
import type { Configuration } from '../settings/load.ts'
import { variableOf } from '../settings/notation/written.ts'
import type { Settings } from '../settings/schema/settings.ts'

/** The reason why the gateway cannot listen on a configured address, with the remedy. */
export class AddressError extends Error {}

/** Tries the addresses of both listeners before any worker does, so that a fault is reported only once. */
export async function tryAddresses(settings: Settings): Promise<void> {
  const { listen, internal } = settings
  const servers: Server[] = []
  try {
    servers.push(await open(listen))
    if (internal.socket !== undefined) await removeDeadSocket(internal.socket)
    servers.push(await open(internal.socket === undefined ? internal : { path: internal.socket }))
  } catch (fault) {
    throw explainListening(fault, settings)
  } finally {
    await Promise.all(servers.map(server => new Promise(closed => server.close(closed))))
  }
}

async function open(address: { host: string; port: number } | { path: string }): Promise<Server> {
  const server = new Server(socket => socket.destroy())
  if ('path' in address) {
    await listenPrivately(server, address.path)
    return server
  }
  const listening = once(server, 'listening')
  server.listen({ host: address.host, port: address.port })
  await listening
  return server
}

/** What Node says of an address; `hostname` where a name has none. */
type ListeningFault = NodeJS.ErrnoException & { hostname?: string; port?: number; address?: string }

const unknownHost = (host: string, key: string): AddressError =>
  new AddressError(`this machine knows no host ${host}; set another ${key} (${variableOf(key.split('.'))})`)

/** A readable error for a failed `listen`, with the setting to change. */
export function explainListening(fault: unknown, { listen, internal }: Settings): AddressError {
  const { code, hostname, port, address, message } = fault as ListeningFault
  if (hostname !== undefined) return unknownHost(hostname, hostname === listen.host ? 'listen.host' : 'internal.host')
  const isPath = address === internal.socket
  const isPublic = port === listen.port && port !== internal.port
  const key = isPath ? 'internal.socket' : isPublic ? 'listen.port' : 'internal.port'
  const variable = variableOf(key.split('.'))
  const where = isPath || port === undefined ? String(address) : `${address}:${port}`
  if (code === 'EADDRINUSE' && isPath && !isSocket(where)) {
    return new AddressError(`${where} exists and is not a socket; remove it, or set another ${key} (${variable})`)
  }
  if (code === 'EADDRINUSE') {
    return new AddressError(`${where} is in use by another program; stop it, or set another ${key} (${variable})`)
  }
  // Node says the same of a folder that is missing.
  if (code === 'EACCES' && isPath && !existsSync(dirname(where)))
    return new AddressError(`the folder of ${where} does not exist; make it, or set another ${key} (${variable})`)
  if (code === 'EACCES')
    return new AddressError(`this user may not listen on ${where}; set another ${key} (${variable})`)
  if (code === 'EADDRNOTAVAIL')
    return new AddressError(`this machine has no address ${address}; set ${key.replace('port', 'host')}`)
  return new AddressError(`cannot listen: ${message}`, { cause: fault })
}

type Addressed = Pick<Configuration['settings'], 'listen' | 'internal' | 'data'>

/** The changed settings that a reload cannot apply, because the listeners stay open. */
export function fixedKeysChanged(running: Addressed, next: Addressed): string[] {
  const fixed = ({ listen, internal, data }: Addressed): [string, unknown][] => [
    ['listen.host', listen.host],
    ['listen.port', listen.port],
    ['internal.host', internal.host],
    ['internal.port', internal.port],
    ['internal.socket', internal.socket],
    ['data', data],
  ]
  const values = new Map(fixed(next))
  return fixed(running)
    .filter(([key, value]) => values.get(key) !== value)
    .map(([key]) => key)
}
