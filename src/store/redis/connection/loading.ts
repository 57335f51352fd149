import { Cluster, type Redis } from 'ioredis'
import type { RedisClient } from './client.ts'

/** Whether a server reads its data after a start. The library waits for it in silence, and lets through what is answered meanwhile. */
export async function isLoading(client: Redis): Promise<boolean> {
  const info = await client.info('persistence').catch(() => '')
  return /^loading:1/m.test(info)
}

/**
 * Follows whether the server that a client connects to reads its data. A connection that is not ready after half of the
 * timeout asks it: at the end of the timeout the client is disconnected.
 */
export function followLoading(client: RedisClient, timeout: number): () => boolean {
  if (client instanceof Cluster) return () => false
  let isFound = false
  let question: NodeJS.Timeout | undefined
  const ask = async (): Promise<void> => {
    isFound = await isLoading(client)
  }
  client.on('connect', () => {
    isFound = false
    clearTimeout(question)
    question = setTimeout(() => void ask(), timeout / 2).unref()
  })
  for (const event of ['ready', 'close']) client.on(event, () => clearTimeout(question))
  return () => isFound
}
