import { Redis } from 'ioredis'
import { pino } from 'pino'
import { systemClock } from '../../src/clock.ts'
import { writeRecord } from '../../src/session.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { freshToken, MINUTE, record } from './contract-fixture.ts'
import { keys, PREFIX } from './tracking-fixture.ts'
import { type Session, sharedNow, type Way } from './tracking-interleavings.ts'

/** Whoever makes and ends sessions: a gateway that remembers nothing, and a plain connection. */
export interface Deleter {
  create(): Promise<Session>
  end(session: Session, way: Way): Promise<number>
  close(): Promise<void>
}

export async function openDeleter(url: string): Promise<Deleter> {
  const settings = { kind: 'redis' as const, prefix: PREFIX, timeout: 20_000, redis: { url } }
  const store = await openStore(settings, '', systemClock, pino({ level: 'silent' }))
  const plain = new Redis(url, { protocol: 2, enableAutoPipelining: true })
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

async function act({ sessions }: Store, plain: Redis, { token, userId }: Session, way: Way): Promise<void> {
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
