import { Cluster } from 'ioredis'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log/log.ts'
import type { LoginType } from '../../src/session/sides.ts'
import type { Acknowledged, Sharing } from '../../src/store/acknowledged-changes.ts'
import { openRedisStore } from '../../src/store/redis/redis.ts'
import { trackRedisStore } from '../../src/store/redis/tracked-store.ts'
import type { Store } from '../../src/store/store.ts'
import { startCluster } from '../support/redis-cluster.ts'
import { startRedis, withoutRedis, withoutRedisServer } from '../support/redis-server.ts'
import { PATIENCE, until } from '../support/until.ts'
import { added, credential } from './contract-credentials.ts'
import { MINUTE } from './contract-fixture.ts'
import {
  isDisableKnown,
  isKeyRemembered,
  keys,
  LASTING,
  openTracked,
  PREFIX,
  TRACKING,
  untilAnnounced,
} from './tracking-fixture.ts'

/** Stores a credential of a consumer, and resolves when it is remembered. */
async function rememberKey(store: Store, owner = '1', lifetime = 10 * MINUTE): Promise<string> {
  const { id } = await added({ store, clock: systemClock }, owner, lifetime, 'CONSUMER')
  await until(() => isKeyRemembered(store, id))
  return id
}

const find = async (store: Store, id: string, type: LoginType = 'CONSUMER') => store.credentials.find(type, id)

await t.test('credentials that Redis announces', { skip: withoutRedis }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())

  await t.test('a credential is queried once, and again after each change', async t => {
    const { store } = await openTracked(t, server)
    const { store: other } = await openTracked(t, server)
    const changes: Record<string, (id: string) => Promise<unknown>> = {
      'another text': id => other.credentials.rewrite('CONSUMER', id, 'text', 'new'),
      'another end': id =>
        other.credentials.succeed('CONSUMER', '1', id, credential({ clock: systemClock }), Date.now() + MINUTE),
      'an end by hand': id => server.cli('PEXPIRE', keys.credential('CONSUMER', id), '50000'),
    }
    for (const [name, change] of Object.entries(changes)) {
      const id = await rememberKey(store)
      await change(id)
      await untilAnnounced(store)
      t.equal(isKeyRemembered(store, id), false, name)
      await until(() => isKeyRemembered(store, id))
      t.equal((await find(store, id))?.text, name === 'another text' ? 'new' : 'text')
      await store.credentials.removeAll('CONSUMER', '1')
    }
    const id = await rememberKey(store)
    await other.credentials.removeAll('CONSUMER', '1')
    await untilAnnounced(store)
    t.equal(await find(store, id), null)
  })

  await t.test('credentials that a store changes itself are evicted before the answer', async t => {
    const { store } = await openTracked(t, server)
    const { credentials } = store
    for (let i = 0; i < 50; i++) {
      const owner = `own-${i}`
      const [one, two] = [await rememberKey(store, owner), await rememberKey(store, owner)]
      await credentials.rewrite('CONSUMER', one, 'text', 'new')
      t.equal((await find(store, one))?.text, 'new')
      await until(() => isKeyRemembered(store, one))
      const next = credential({ clock: systemClock }, owner)
      await credentials.succeed('CONSUMER', owner, one, next, Date.now() + MINUTE)
      if (isKeyRemembered(store, one)) t.fail('one that was succeeded is remembered with its old end')
      await until(() => isKeyRemembered(store, one))
      await credentials.remove('CONSUMER', owner, one)
      if (isKeyRemembered(store, one)) t.fail('one that was removed is remembered')
      await until(() => isKeyRemembered(store, two))
      await credentials.removeAll('CONSUMER', owner)
      if (isKeyRemembered(store, two)) t.fail('one of an owner without any is remembered')
      t.equal(await find(store, two), null)
    }
  })

  await t.test('a credential ends on time, even if Redis announces it late', async t => {
    const { store } = await openTracked(t, server)
    // Redis now looks for keys at their end once in a second.
    await server.cli('CONFIG', 'SET', 'hz', '1')
    t.teardown(() => server.cli('CONFIG', 'SET', 'hz', '10'))
    const end = Date.now() + 1000
    const made = { ...credential({ clock: systemClock }), expiresAt: end }
    await store.credentials.add('CONSUMER', made, 100)
    await find(store, made.id)
    for (let before = Date.now(); ; before = Date.now()) {
      const remembered = isKeyRemembered(store, made.id)
      if (before >= end) {
        t.equal(remembered, false)
        break
      }
      await new Promise(resolve => setImmediate(resolve))
    }
    t.equal(await find(store, made.id), null)
  })

  await t.test('a side without cache queries Redis every time', async t => {
    const { store } = await openTracked(t, server, { business: 'off' })
    await rememberKey(store)
    const { id } = await added({ store, clock: systemClock }, 'b')
    for (let i = 0; i < 3; i++) t.equal((await find(store, id, 'BUSINESS'))?.owner, 'b')
    t.equal(isKeyRemembered(store, id, 'BUSINESS'), false)
    await store.sessions.rememberedDisable('BUSINESS', 'b')
    t.equal(isDisableKnown(store, 'b', 'BUSINESS'), false)
  })

  await t.test('that a login id is not disabled is known without a question, until it is', async t => {
    const { store } = await openTracked(t, server, LASTING)
    const { store: other } = await openTracked(t, server, LASTING)
    await untilAnnounced(store)
    await until(() => isDisableKnown(store, 'x'))
    t.equal(store.sessions.rememberedDisable('CONSUMER', 'x'), null)
    const ends = Date.now() + 10 * MINUTE
    await other.sessions.disable('CONSUMER', 'x', ends)
    t.type(await store.sessions.disabledUntil('CONSUMER', 'x'), 'number', 'from the server it is known at once')
    await untilAnnounced(store)
    t.equal(isDisableKnown(store, 'x'), false)
    await until(() => isDisableKnown(store, 'x'))
    const known = store.sessions.rememberedDisable('CONSUMER', 'x') as number
    t.ok(Math.abs(known - ends) < MINUTE)
    await store.sessions.untieDisable('CONSUMER', 'x')
    t.equal(
      await store.sessions.rememberedDisable('CONSUMER', 'x'),
      null,
      'what this store changes itself it knows at once',
    )
    await until(() => isDisableKnown(store, 'x'))
    for (let i = 0; i < 50; i++) {
      await store.sessions.disable('CONSUMER', 'x', ends)
      t.type(await store.sessions.rememberedDisable('CONSUMER', 'x'), 'number')
      await store.sessions.untieDisable('CONSUMER', 'x')
      t.equal(await store.sessions.rememberedDisable('CONSUMER', 'x'), null)
    }
  })

  await t.test('what another process of the gateway has changed on a new master is not remembered', async t => {
    let receive: (changes: readonly Acknowledged[]) => void = () => undefined
    const settings = { kind: 'redis' as const, prefix: PREFIX, timeout: PATIENCE, redis: { url: server.url } }
    const sharing: Sharing = {
      share: async () => undefined,
      receive: receiver => {
        receive = receiver
      },
    }
    const opened = await openRedisStore(settings, systemClock, createLog('silent'), { sharing })
    const store = trackRedisStore(opened, keys, TRACKING, systemClock, createLog('silent'))
    t.teardown(() => store.close())
    await untilAnnounced(store)
    const id = await rememberKey(store, 'shared')
    await until(() => isDisableKnown(store, 'shared'))
    // A server that is one no more still answers here, and announces nothing.
    const [key, disable] = [keys.credential('CONSUMER', id), keys.disable('CONSUMER', 'shared')]
    receive([
      { kind: 'ended', key, server: 'another' },
      { kind: 'disabled', key: disable, server: 'another', until: Date.now() + MINUTE, version: 1, replaced: [] },
    ])
    t.equal(isKeyRemembered(store, id), false)
    t.equal(isDisableKnown(store, 'shared'), false)
    t.equal(await find(store, id), null)
    t.type(await store.sessions.rememberedDisable('CONSUMER', 'shared'), 'number')
  })
})

await t.test(
  'credentials and disables that the masters of a Cluster announce',
  { skip: withoutRedisServer },
  async t => {
    const cluster = await startCluster(PATIENCE)
    t.teardown(() => cluster.stop())
    const { store } = await openTracked(t, { cluster: cluster.nodes })
    const { store: other } = await openTracked(t, { cluster: cluster.nodes })
    await untilAnnounced(store)
    for (let i = 0; i < 20; i++) await remembered(t, store, other, `owner-${i}`)
    t.ok(store.connections.store instanceof Cluster)
  },
)

async function remembered(
  t: Test,
  store: Awaited<ReturnType<typeof openTracked>>['store'],
  other: Store,
  owner: string,
) {
  const id = await rememberKey(store, owner)
  await until(() => isDisableKnown(store, owner))
  await other.credentials.remove('CONSUMER', owner, id)
  await other.sessions.disable('CONSUMER', owner, Date.now() + MINUTE)
  await untilAnnounced(store)
  t.equal(await find(store, id), null)
  t.type(await store.sessions.rememberedDisable('CONSUMER', owner), 'number')
}
