import { Cluster } from 'ioredis'
import type { RedisClient } from './client.ts'

/*
 * A server may refuse the database of the settings: it has fewer, or the user may not choose one. The library then goes on in
 * database 0, where another system may keep its sessions. Such a connection is ended before anything is asked on it, and made anew.
 */

/** Reports the faults of a client, and ends its connections that do not reach their database. What fails after that is no fault of its own. */
export function watchFaults(client: RedisClient, report: (fault: Error) => void): void {
  let isEnded = false
  client.on('close', () => {
    isEnded = false
  })
  client.on('error', (fault: Error) => {
    if (isEnded) return
    if (isOfSelect(fault)) {
      if (isInDatabase0(client)) return
      isEnded = true
      client.disconnect(true)
    }
    report(fault)
  })
}

const isOfSelect = (fault: Error & { command?: { name?: string } }): boolean => fault.command?.name === 'select'

/** Every connection begins there. */
const isInDatabase0 = (client: RedisClient): boolean =>
  client instanceof Cluster || Number(client.options.db ?? 0) === 0
