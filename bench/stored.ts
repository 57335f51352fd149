import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, systemClock } from '../src/base/clock.ts'
import { createLog } from '../src/base/log/log.ts'
import type { SessionRecord } from '../src/session/record.ts'
import type { SessionCacheSettings } from '../src/settings/schema/store.ts'
import { openStore } from '../src/store/open.ts'
import type { Store } from '../src/store/store.ts'
import { heldBytes, type RedisPlace, redisSettings } from './redis.ts'

export const LIFETIME = 86_400_000

interface Options {
  clock?: Clock
  /** What it remembers of Redis; without it, nothing. */
  cache?: SessionCacheSettings
}

/** The store of a gateway, beside it: in Redis where there is one, else in the folder; `timeout` in milliseconds. */
export function openBeside(
  redis: RedisPlace | undefined,
  data: string,
  timeout: number,
  { clock = systemClock, cache }: Options = {},
): Promise<Store> {
  const kind =
    redis === undefined ? { kind: 'embedded' as const } : { kind: 'redis' as const, redis: redisSettings(redis) }
  return openStore({ ...kind, prefix: 'svc:auth', timeout }, data, clock, createLog('error'), cache)
}

/** A text as long as a token. */
export const tokenOf = (n: number): string => `eyJhbGciOiJIUzI1NiJ9.${String(n).padStart(64, 'x')}.${'s'.repeat(43)}`

/** Begins a session that lives for a day. */
export const addSession = (store: Store, userId: string, token: string): Promise<unknown> =>
  store.sessions.add('CONSUMER', token, recordOf(userId), Date.now() + LIFETIME)

const recordOf = (userId: string): SessionRecord => ({
  user_id: userId,
  type: 'CONSUMER',
  created_at: new Date().toISOString().slice(0, 19).replace('T', ' '),
  extra: { username: userId, device_type: 'web' },
})

/** Memory of Redis, or the file of the embedded store. */
export async function bytesOf(redis: RedisPlace | undefined, data: string): Promise<number> {
  if (redis === undefined) return statSync(join(data, 'sessions.mdb'), { throwIfNoEntry: false })?.size ?? 0
  return (await heldBytes(redis)).reduce((sum, bytes) => sum + bytes, 0)
}
