import type { RedisClient } from './client.ts'

/** How long a revocation is remembered, in milliseconds: longer than a replica lags and a failover takes. */
const MEMORY = 60_000
const MAX_REMEMBERED = 10_000

export interface Revocations {
  add(key: string): void
}

/**
 * Replication is asynchronous: a replica that takes over may hold what was deleted on the master, and so may a Redis that
 * restarts from its last snapshot. So the deletions of the last minute are repeated on every new connection, ahead of
 * anything that is asked there. WAIT would not do in their place: it promises nothing about the replica that takes over,
 * and it holds up its connection, that is every request, while a replica lags.
 */
export function rememberRevocations(client: RedisClient, remove: (key: string) => Promise<boolean>): Revocations {
  /** Keys and the moments of the process they may be forgotten at, oldest first. */
  const remembered = new Map<string, number>()

  const forget = (): void => {
    const now = performance.now()
    for (const [key, until] of remembered) {
      if (until > now && remembered.size <= MAX_REMEMBERED) break
      remembered.delete(key)
    }
  }

  client.on('ready', () => {
    forget()
    // What fails is repeated with the next connection.
    for (const key of remembered.keys()) remove(key).catch(() => undefined)
  })

  return {
    add(key) {
      remembered.delete(key)
      remembered.set(key, performance.now() + MEMORY)
      forget()
    },
  }
}
