import { Cluster, type Redis } from 'ioredis'
import type { RedisClient } from '../connection/client.ts'
import type { Ask } from './send-command.ts'

/** Reads the text of one key; `null` without it, or where it is of another type. */
export type Reader = (key: string) => Promise<string | null>

type Texts = (string | null)[]

/** Keys that one command reads at most: their records arrive as one answer, and Redis serves no other client meanwhile. */
const MAX_KEYS = 500

/** Reads of one turn of the event loop. */
interface Batch {
  keys: string[]
  resolve: ((text: string | null) => void)[]
  reject: ((fault: unknown) => void)[]
}

/**
 * Reads keys for many requests together: all reads of one turn of the event loop are one command, with one timer and one
 * answer. In a Cluster the keys lie in different slots, which one command cannot read.
 */
export function createReader(client: RedisClient, ask: Ask): Reader {
  if (client instanceof Cluster) return key => ask(() => client.get(key))
  let batch: Batch | null = null

  const send = async ({ keys, resolve, reject }: Batch): Promise<void> => {
    try {
      const texts = await ask(() => readAll(client, keys), keys.length)
      for (const [i, text] of texts.entries()) resolve[i]!(text)
    } catch (fault) {
      for (const refuse of reject) refuse(fault)
    }
  }

  const flush = (): void => {
    if (batch !== null) void send(batch)
    batch = null
  }

  return key =>
    new Promise((resolve, reject) => {
      if (batch === null) {
        batch = { keys: [], resolve: [], reject: [] }
        setImmediate(flush)
      }
      batch.keys.push(key)
      batch.resolve.push(resolve)
      batch.reject.push(reject)
      if (batch.keys.length === MAX_KEYS) flush()
    })
}

/** Where an ACL of Redis forbids MGET, the keys are read one by one. */
async function readAll(client: Redis, keys: string[]): Promise<Texts> {
  try {
    return await client.mget(keys)
  } catch (error) {
    if (!(error as Error).message.startsWith('NOPERM')) throw error
    return Promise.all(keys.map(key => client.get(key)))
  }
}
