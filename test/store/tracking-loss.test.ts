import t from 'tap'
import { Unavailable } from '../../src/base/refusal.ts'
import { random } from '../support/random.ts'
import { type RedisServer, startRedis, withoutRedisServer } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { MINUTE } from './contract-fixture.ts'
import { openDeleter } from './tracking-actors.ts'
import {
  IMPATIENCE,
  isRemembered,
  keys,
  lastServed,
  openTracked,
  remember,
  untilAnnounced,
  untilRemembered,
} from './tracking-fixture.ts'
import { interleave } from './tracking-interleavings.ts'
import { startRelay } from './tracking-relay.ts'

const HEARTBEAT = 400

const idsOf = async (server: RedisServer, type: 'pubsub' | 'normal'): Promise<string[]> =>
  [...(await server.cli('CLIENT', 'LIST', 'TYPE', type)).matchAll(/^id=(\d+).* cmd=(?!client)/gm)].map(([, id]) => id!)

await t.test('a store whose announcements are lost', { skip: withoutRedisServer }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())

  await t.test('asks Redis as soon as the connection is cut, and remembers again when it is back', async t => {
    // The log is compared: a stall of this process must not be taken for a silent Redis.
    const { store, log } = await openTracked(t, server, { heartbeat: MINUTE })
    const [ended, kept] = [await remember(store), await remember(store)]
    // No connection receives the announcement of the deletion.
    for (const id of await idsOf(server, 'pubsub')) await server.cli('CLIENT', 'KILL', 'ID', id)
    await server.cli('DEL', keys.token('CONSUMER', ended))
    await until(() => !isRemembered(store, kept))
    t.equal(await store.sessions.find('CONSUMER', ended), null)
    await untilRemembered(store, kept)
    t.match(
      log.map(({ msg }) => msg),
      ['sessions are cached', 'sessions are not cached: the connection is lost', 'sessions are cached'],
    )
  })

  await t.test('serves nothing from memory for longer than the heartbeat while they are delayed', async t => {
    const relay = await startRelay(t, server.port)
    const { store, log } = await openTracked(t, relay, { heartbeat: HEARTBEAT })
    const [ended, kept] = [await remember(store), await remember(store)]
    for (let round = 0; round < 3; round++) {
      await untilRemembered(store, kept)
      const token = round === 0 ? ended : await remember(store)
      relay.hold()
      await server.cli('DEL', keys.token('CONSUMER', token))
      const endedAt = Date.now()
      const served = await lastServed(store, token)
      t.ok(served - endedAt < HEARTBEAT, `served for ${served - endedAt} ms`)
      t.equal(await store.sessions.find('CONSUMER', token), null, 'then Redis is asked')
      t.match(await store.sessions.find('CONSUMER', kept), { user_id: '1' })
      await until(() => log.some(({ msg }) => msg === 'sessions are not cached: Redis is silent'))
      relay.release()
      await untilRemembered(store, kept)
      t.equal(await store.sessions.find('CONSUMER', token), null)
    }
  })

  await t.test('closes a connection on which nothing arrives any more', async t => {
    const relay = await startRelay(t, server.port)
    const { store } = await openTracked(t, relay, { heartbeat: HEARTBEAT }, IMPATIENCE)
    const token = await until(() => remember(store).catch(() => null))
    const [before] = await idsOf(server, 'pubsub')
    relay.hold()
    await until(async () => !(await idsOf(server, 'pubsub')).includes(before!))
    relay.release()
    await untilRemembered(store, token)
    t.not((await idsOf(server, 'pubsub'))[0], before, 'there is another one')
  })

  await t.test('serves nothing from memory for longer than the heartbeat while Redis is paused', async t => {
    const { store } = await openTracked(t, server, { heartbeat: HEARTBEAT }, IMPATIENCE)
    const token = await until(() => remember(store).catch(() => null))
    server.pause()
    const pausedAt = Date.now()
    const served = await lastServed(store, token)
    t.ok(served - pausedAt < HEARTBEAT, `served for ${served - pausedAt} ms`)
    await t.rejects(
      store.sessions.find('CONSUMER', token) as Promise<unknown>,
      Unavailable,
      'not known, not logged out',
    )
    server.resume()
    await untilRemembered(store, token)
  })

  await t.test(
    'empties the cache when its query connection is lost, because it may reconnect to another server',
    async t => {
      const { store } = await openTracked(t, server)
      const token = await remember(store)
      const [tracking] = await idsOf(server, 'pubsub')
      for (const id of await idsOf(server, 'normal')) await server.cli('CLIENT', 'KILL', 'ID', id)
      await until(() => !isRemembered(store, token))
      await untilRemembered(store, token)
      t.not((await idsOf(server, 'pubsub'))[0], tracking, 'the announcements were requested again')
    },
  )

  await t.test('caches nothing of a Redis that came back empty', async t => {
    const { store } = await openTracked(t, server)
    const token = await remember(store)
    await server.kill()
    await until(() => !isRemembered(store, token))
    await server.restart()
    await until(async () => (await Promise.resolve(store.sessions.find('CONSUMER', token)).catch(() => token)) === null)
    t.ok(await until(async () => isRemembered(store, await remember(store))))
  })

  await t.test('misses no end of a session while the connection is lost repeatedly', async t => {
    const { store } = await openTracked(t, server, { heartbeat: HEARTBEAT })
    await untilAnnounced(store)
    const deleter = await openDeleter({ url: server.url })
    t.teardown(() => deleter.close())
    let running = true
    const cutting = (async () => {
      while (running) {
        await server.cli('CLIENT', 'KILL', 'TYPE', 'pubsub')
        await new Promise(resolve => setTimeout(resolve, random() * 100))
      }
    })()
    const outcome = await interleave({ serving: store, create: deleter.create, end: deleter.end }, 5000)
    running = false
    await cutting
    t.comment(`${outcome.remembered} of ${outcome.interleavings} were served from memory`)
    t.ok(outcome.remembered > 0)
    t.equal(outcome.revived, 0)
    t.ok(outcome.latenessOfLook.every(ms => ms < HEARTBEAT))
  })
})
