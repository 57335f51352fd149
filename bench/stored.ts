import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { type Clock, systemClock } from '../src/base/clock.ts'
import { createLog } from '../src/base/log/log.ts'
import { openStore } from '../src/store/open.ts'
import type { Store } from '../src/store/store.ts'

/** The store of a gateway, beside it: in Redis where there is an address, else in the folder; `timeout` in milliseconds. */
export function openBeside(
  redis: string | undefined,
  data: string,
  timeout: number,
  clock: Clock = systemClock,
): Promise<Store> {
  const kind = redis === undefined ? { kind: 'embedded' as const } : { kind: 'redis' as const, redis: { url: redis } }
  return openStore({ ...kind, prefix: 'svc:auth', timeout }, data, clock, createLog('error'))
}

/** Memory of Redis, or the file of the embedded store. */
export async function bytesOf(redis: string | undefined, data: string): Promise<number> {
  if (redis === undefined) return statSync(join(data, 'sessions.mdb'), { throwIfNoEntry: false })?.size ?? 0
  const client = new Redis(redis, { protocol: 2 })
  const info = await client.info('memory')
  await client.quit()
  return Number(/used_memory:(\d+)/.exec(info)![1])
}
