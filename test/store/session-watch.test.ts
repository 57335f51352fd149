import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log/log.ts'
import { openStore } from '../../src/store/open.ts'
import { MAX_UNKNOWN, SessionWatch } from '../../src/store/session-watch.ts'
import type { Store } from '../../src/store/store.ts'
import type { EndOfWatch } from '../../src/store/watched-session.ts'
import { createClockAhead, createTestClock } from '../support/clock.ts'
import { startCluster } from '../support/redis-cluster.ts'
import { type RedisServer, startRedis, withoutRedis, withoutRedisServer } from '../support/redis-server.ts'
import { PATIENCE, until } from '../support/until.ts'
import { LONG, login, MINUTE } from './contract-fixture.ts'
import { startProxy, type Proxy as Way } from './redis-proxy.ts'
import { keys, PREFIX, TRACKING } from './tracking-fixture.ts'

t.jobs = 10

/* A listener of a session is notified of its end, for any cause, and of nothing else. */

const log = createLog('silent')
const MONTH = 30 * 24 * 60 * MINUTE

interface Fixture {
  store: Store
  /** The same store as another gateway has it. */
  other: Store
  clock: ReturnType<typeof createClockAhead>
  watch: SessionWatch
  redis: RedisServer | null
}

function watchOn(t: Test, store: Store, clock: Clock, enforceDisable = false): SessionWatch {
  const watch = new SessionWatch({ sessions: store.sessions, changes: store.changes, clock, log, enforceDisable })
  t.teardown(() => watch.close())
  return watch
}

/** Watches a session and answers what was reported of it. */
function watched(watch: SessionWatch, token: string, userId = 'u1'): EndOfWatch[] {
  const reported: EndOfWatch[] = []
  watch.watch({ type: 'CONSUMER', token, userId }, why => void reported.push(why))
  return reported
}

async function isReported(reported: EndOfWatch[], why: EndOfWatch = 'ended'): Promise<boolean> {
  await until(() => reported.length > 0)
  return reported[0] === why
}

const aWhile = () => new Promise(resolve => setTimeout(resolve, 300))

type Opening = (t: Test, enforceDisable?: boolean) => Promise<Fixture>

const openEmbedded: Opening = (t, enforceDisable) => openEmbeddedAt(t, createClockAhead(), enforceDisable)

async function openEmbeddedAt<C extends Clock>(t: Test, clock: C, enforceDisable = false) {
  const settings = { kind: 'embedded' as const, prefix: PREFIX, timeout: PATIENCE }
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-watch-'))
  const store = await openStore(settings, folder, clock, log)
  const other = await openStore(settings, folder, clock, log)
  t.teardown(async () => {
    await store.close()
    await other.close()
    rmSync(folder, { recursive: true })
  })
  return { store, other, clock, watch: watchOn(t, store, clock, enforceDisable), redis: null }
}

const openRedis =
  (
    cache: Partial<typeof TRACKING>,
    urlOf: (redis: RedisServer) => string | Promise<string> = ({ url }) => url,
  ): Opening =>
  async (t, enforceDisable) => {
    const redis = await startRedis()
    t.teardown(() => redis.stop())
    const clock = createClockAhead()
    const settings = { kind: 'redis' as const, prefix: PREFIX, timeout: PATIENCE, redis: { url: await urlOf(redis) } }
    const store = await openStore(settings, '', systemClock, log, { ...TRACKING, ...cache }, true)
    const other = await openStore(settings, '', systemClock, log)
    t.teardown(async () => {
      await store.close()
      await other.close()
    })
    return { store, other, clock, watch: watchOn(t, store, clock, enforceDisable), redis }
  }

const STORES: Record<string, { open: Opening; skip: string | false }> = {
  'embedded store': { open: openEmbedded, skip: false },
  'Redis, sessions cached': { open: openRedis({}), skip: withoutRedis },
  'Redis, sessions polled': { open: openRedis({ business: 'off', consumer: 'off' }), skip: withoutRedis },
}

for (const [name, { open, skip }] of Object.entries(STORES)) {
  t.test(name, { skip }, async t => {
    // Stores on one file in one process wait for each other in Node's few threads.
    t.jobs = name === 'embedded store' ? 1 : 7
    t.test('only the listener of a session is notified of its end', async t => {
      const { store, other, watch } = await open(t)
      const tokens = await Promise.all(
        Array.from({ length: 4 }, () => login({ store, clock: systemClock }, 'CONSUMER', 'u1', LONG)),
      )
      const bystander = watched(watch, await login({ store, clock: systemClock }, 'CONSUMER', 'u2', LONG), 'u2')
      const [own, elsewhere, ...rest] = tokens.map(token => watched(watch, token))
      await store.sessions.remove('CONSUMER', 'u1', tokens[0]!)
      t.ok(await isReported(own!), 'of a logout here')
      await other.sessions.remove('CONSUMER', 'u1', tokens[1]!)
      t.ok(await isReported(elsewhere!), 'of a logout elsewhere')
      t.same(rest, [[], []])
      await other.sessions.removeAll('CONSUMER', 'u1')
      for (const reported of rest) t.ok(await isReported(reported), 'of a kickout')
      await aWhile()
      t.same([own, elsewhere, ...rest, bystander], [['ended'], ['ended'], ['ended'], ['ended'], []], 'once each')
    })

    t.test('a removed listener is not notified, the others are', async t => {
      const { store, watch } = await open(t)
      const token = await login({ store, clock: systemClock }, 'CONSUMER', 'u1', LONG)
      const [first, second]: EndOfWatch[][] = [[], []]
      const stop = watch.watch({ type: 'CONSUMER', token, userId: 'u1' }, why => void first!.push(why))
      watch.watch({ type: 'CONSUMER', token, userId: 'u1' }, why => void second!.push(why))
      stop()
      await store.sessions.remove('CONSUMER', 'u1', token)
      t.ok(await isReported(second!))
      t.same(first, [])
    })

    t.test('the listener of an ended session is notified at once', async t => {
      const { store, watch } = await open(t)
      const token = await login({ store, clock: systemClock }, 'CONSUMER', 'u1', LONG)
      await store.sessions.remove('CONSUMER', 'u1', token)
      t.ok(await isReported(watched(watch, token)))
    })

    t.test('a listener is notified when the session expires, but not if it was renewed', async t => {
      const { store, other, watch } = await open(t)
      // Where the machine stalls for these three seconds, the renewal comes too late: once more with other sessions.
      const reported = await until(async () => {
        const [short, renewed] = [
          await login({ store, clock: systemClock }, 'CONSUMER', 'u1', 3000),
          await login({ store, clock: systemClock }, 'CONSUMER', 'u1', 3000),
        ]
        const reported = [watched(watch, short), watched(watch, renewed)]
        return (await other.sessions.renew('CONSUMER', 'u1', renewed, Date.now() + MONTH)) && reported
      })
      t.ok(await isReported(reported[0]!))
      await aWhile()
      t.same(reported, [['ended'], []])
    })

    t.test('a listener is notified when a shortened session expires', async t => {
      const { store, other, watch } = await open(t)
      // Where the machine stalls for these 800 ms, the session has ended before: once more with another one.
      const reported = await until(async () => {
        const token = await login({ store, clock: systemClock }, 'CONSUMER', 'u1', MONTH)
        const reported = watched(watch, token)
        await aWhile()
        t.same(reported, [], 'a month is more than a timer of Node can wait for')
        return (await other.sessions.renew('CONSUMER', 'u1', token, Date.now() + 800)) && reported
      })
      t.ok(await isReported(reported))
    })

    t.test('a listener is notified as soon where the clock is set back', async t => {
      const { store, other, clock, watch } = await open(t)
      const token = await login({ store, clock: systemClock }, 'CONSUMER', 'u1', MONTH)
      const reported = watched(watch, token)
      await aWhile()
      clock.setBack = 60 * MINUTE
      await aWhile()
      t.same(reported, [])
      await other.sessions.remove('CONSUMER', 'u1', token)
      t.ok(await isReported(reported))
    })

    t.test('a disabled login id ends what it watches only where that is enforced', async t => {
      for (const enforced of [true, false]) {
        const { store, other, watch } = await open(t, enforced)
        const reported = watched(watch, await login({ store, clock: systemClock }, 'CONSUMER', 'u1', LONG))
        const bystander = watched(watch, await login({ store, clock: systemClock }, 'CONSUMER', 'u2', LONG), 'u2')
        await other.sessions.disable('CONSUMER', 'u1', Date.now() + LONG)
        if (enforced) t.ok(await isReported(reported))
        await aWhile()
        t.same([reported, bystander], [enforced ? ['ended'] : [], []])
      }
    })

    t.test('many sessions end at once', async t => {
      const { store, other, watch } = await open(t)
      const users = Array.from({ length: 20 }, (_, i) => `u${i}`)
      const reported: EndOfWatch[][] = []
      for (const user of users) {
        const tokens = Array.from({ length: 60 }, () => login({ store, clock: systemClock }, 'CONSUMER', user, LONG))
        for (const token of await Promise.all(tokens)) reported.push(watched(watch, token, user))
      }
      await Promise.all(users.map(user => other.sessions.removeAll('CONSUMER', user)))
      await until(() => reported.every(({ length }) => length > 0))
      t.ok(reported.every(([why]) => why === 'ended'))
    })
  })
}

t.test(
  'Redis, sessions cached: the listener is notified of a record that another program deletes',
  { skip: withoutRedis },
  async t => {
    const { store, watch, redis } = await openRedis({})(t)
    const [deleted, flushed] = [
      await login({ store, clock: systemClock }, 'CONSUMER', 'u1', LONG),
      await login({ store, clock: systemClock }, 'CONSUMER', 'u1', LONG),
    ]
    const reported = [watched(watch, deleted), watched(watch, flushed)]
    await redis!.cli('DEL', keys.token('CONSUMER', deleted))
    t.ok(await isReported(reported[0]!))
    t.same(reported[1], [])
    await redis!.cli('FLUSHALL')
    t.ok(await isReported(reported[1]!))
  },
)

t.test('a change during a lost connection to Redis is reported afterwards', { skip: withoutRedis }, async t => {
  let way: Way | undefined
  t.teardown(() => way?.cut())
  const { store, watch, redis } = await openRedis({}, async ({ port }) => {
    way = await startProxy(port)
    return `redis://127.0.0.1:${way.port}`
  })(t)
  const [ended, kept] = [
    await login({ store, clock: systemClock }, 'CONSUMER', 'u1', LONG),
    await login({ store, clock: systemClock }, 'CONSUMER', 'u1', LONG),
  ]
  const reported = [watched(watch, ended), watched(watch, kept)]
  await aWhile()
  const record = await redis!.cli('GET', keys.token('CONSUMER', kept))
  // It comes back empty: both were lost, and one is put back, before the store finds it.
  await way!.cut()
  await redis!.kill()
  await aWhile()
  t.same(reported, [[], []], 'an outage ends nothing')
  await redis!.restart()
  await redis!.cli('SET', keys.token('CONSUMER', kept), record, 'PX', String(LONG))
  await way!.open()
  t.ok(await isReported(reported[0]!))
  await aWhile()
  t.same(reported[1], [])
})

t.test('while the store fails a session is kept for a while, and then counts as ended', async t => {
  const { store, clock, watch } = await openEmbeddedAt(t, createTestClock(systemClock.now()))
  const reported = watched(watch, await login({ store, clock }, 'CONSUMER', 'u1', 60 * MINUTE))
  await aWhile()
  await store.close()
  await aWhile()
  t.same(reported, [])
  clock.time += MAX_UNKNOWN - 1
  await aWhile()
  t.same(reported, [], 'not before its time')
  // When the session is read next.
  clock.time += 1000
  t.ok(await isReported(reported, 'unknown'))
})

t.test('in a Cluster the end of a session on any master is reported', { skip: withoutRedisServer }, async t => {
  const cluster = await startCluster(PATIENCE)
  t.teardown(() => cluster.stop())
  const settings = { kind: 'redis' as const, prefix: PREFIX, timeout: PATIENCE, redis: { cluster: cluster.nodes } }
  const store = await openStore(settings, '', systemClock, log, TRACKING, true)
  t.teardown(() => store.close())
  const watch = watchOn(t, store, systemClock)
  const tokens = await Promise.all([1, 2, 3].map(() => login({ store, clock: systemClock }, 'CONSUMER', 'u1', LONG)))
  const reported = tokens.map(token => watched(watch, token))
  await store.sessions.remove('CONSUMER', 'u1', tokens[0]!)
  t.ok(await isReported(reported[0]!))
  t.same(reported.slice(1), [[], []])
})
