import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Cluster, Redis } from 'ioredis'
import { pino } from 'pino'
import { systemClock } from '../../src/base/clock.ts'
import { writeRecord } from '../../src/session/record.ts'
import type { Settings } from '../../src/settings/schema/settings.ts'
import { openStore } from '../../src/store/open.ts'
import type { RedisClient } from '../../src/store/redis/connection/client.ts'
import type { Store } from '../../src/store/store.ts'
import { freshToken, MINUTE, record } from './contract-fixture.ts'
import { keys, PREFIX } from './tracking-fixture.ts'
import { type Session, sharedNow, type Way } from './tracking-interleavings.ts'

/** Actors that make and end sessions: a gateway that remembers nothing, and a plain connection. */
export interface Deleter {
  create(): Promise<Session>
  end(session: Session, way: Way): Promise<number>
  close(): Promise<void>
}

export async function openDeleter(redis: NonNullable<Settings['store']['redis']>): Promise<Deleter> {
  const settings = { kind: 'redis' as const, prefix: PREFIX, timeout: 20_000, redis }
  const store = await openStore(settings, '', systemClock, pino({ level: 'silent' }))
  const options = { protocol: 2 as const, enableAutoPipelining: true }
  const plain =
    redis.cluster === undefined
      ? new Redis(redis.url!, options)
      : new Cluster(redis.cluster, { redisOptions: options, enableAutoPipelining: true })
  let users = 0
  return {
    async create() {
      const session = { token: freshToken(), userId: String(users++) }
      // As another program would write it.
      const text = writeRecord(record('CONSUMER', session.userId))
      await plain.set(keys.token('CONSUMER', session.token), text, 'PX', 10 * MINUTE)
      return session
    },
    async end(session, way) {
      await act(store, plain, session, way)
      return sharedNow()
    },
    async close() {
      plain.disconnect()
      await store.close()
    },
  }
}

async function act({ sessions }: Store, plain: RedisClient, { token, userId }: Session, way: Way): Promise<void> {
  const key = keys.token('CONSUMER', token)
  if (way === 'remove') await sessions.remove('CONSUMER', userId, token)
  if (way === 'removeAll') {
    await plain.sadd(keys.session('CONSUMER', userId), token)
    await sessions.removeAll('CONSUMER', userId)
  }
  if (way === 'renew-remove') {
    const renewed = sessions.renew('CONSUMER', userId, token, Date.now() + 20 * MINUTE)
    await Promise.all([renewed, sessions.remove('CONSUMER', userId, token)])
  }
  if (way === 'DEL') await plain.del(key)
  if (way === 'UNLINK') await plain.unlink(key)
  // An actor makes it an invalid record, or lets it expire.
  if (way === 'SET') await plain.set(key, 'null', 'PX', MINUTE)
  if (way === 'PEXPIRE') await plain.pexpire(key, 0)
}

/** Compiled for `npm test`; `npm run chaos` runs the source, with the loader of this process. */
const EXTENSION = import.meta.url.slice(-3)
const DELETER = join(import.meta.dirname, `tracking-deleter${EXTENSION}`)
const LOADER = EXTENSION === '.ts' ? process.execArgv : []

/** The deleter in a process of its own: one line each way per session. */
export function startDeleter(url: string): Deleter {
  const child = spawn(process.execPath, [...LOADER, DELETER, url], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const waiting = new Map<number, (answer: any) => void>()
  createInterface({ input: child.stdout }).on('line', line => {
    const [id, answer] = JSON.parse(line)
    waiting.get(id)!(answer)
    waiting.delete(id)
  })
  let asked = 0
  const ask = <T>(...question: unknown[]): Promise<T> =>
    new Promise(resolve => {
      const id = asked++
      waiting.set(id, resolve)
      child.stdin.write(`${JSON.stringify([id, ...question])}\n`)
    })
  return {
    create: () => ask<Session>('create'),
    end: (session, way) => ask<number>('end', session, way),
    async close() {
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}
