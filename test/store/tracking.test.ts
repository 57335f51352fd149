import t from 'tap'
import { startRedis, withoutRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { freshToken, LONG, MINUTE, record } from './contract-fixture.ts'
import {
  isRemembered,
  keys,
  LASTING,
  openTracked,
  remember,
  trackedContract,
  untilAnnounced,
  untilRemembered,
} from './tracking-fixture.ts'

await t.test('the law of the stores, remembered', { skip: withoutRedis }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  await trackedContract(t, 'tracked', { url: server.url }, async () => {
    await server.cli('CLIENT', 'KILL', 'TYPE', 'pubsub')
  })
})

await t.test('sessions that Redis announces', { skip: withoutRedis }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())

  await t.test('a session is queried once, and again after each change', async t => {
    const { store } = await openTracked(t, server, LASTING)
    const token = await remember(store)
    const key = keys.token('CONSUMER', token)
    t.equal(isRemembered(store, token), true)

    const changes = {
      'another record': ['SET', key, JSON.stringify(record('CONSUMER', '2')), 'KEEPTTL'],
      'another end': ['EXPIRE', key, '1000'],
      'no end': ['PERSIST', key],
      'another name': ['RENAME', key, `${key}x`],
      'its name again': ['RENAME', `${key}x`, key],
    }
    for (const [change, [command, ...args]] of Object.entries(changes)) {
      await server.cli(command!, ...args)
      await untilAnnounced(store)
      t.equal(isRemembered(store, token), false, change)
      await until(() => isRemembered(store, token) || change === 'another name')
    }
    t.equal((await store.sessions.find('CONSUMER', token))?.user_id, '2')
    await server.cli('DEL', key)
    await untilAnnounced(store)
    t.equal(await store.sessions.find('CONSUMER', token), null)
  })

  await t.test('many simultaneous changes are all received', async t => {
    const { store } = await openTracked(t, server)
    const tokens = await Promise.all(Array.from({ length: 500 }, () => remember(store)))
    await server.cli('DEL', ...tokens.map(token => keys.token('CONSUMER', token)))
    await untilAnnounced(store)
    for (const token of tokens) if (isRemembered(store, token)) t.fail('a deleted session is remembered')
  })

  for (const flush of ['FLUSHALL', 'FLUSHDB']) {
    await t.test(`${flush} ends every session`, async t => {
      const { store } = await openTracked(t, server)
      const tokens = await Promise.all(Array.from({ length: 5 }, () => remember(store)))
      await server.cli(flush)
      await untilAnnounced(store)
      for (const token of tokens) t.equal(await store.sessions.find('CONSUMER', token), null)
    })
  }

  await t.test('a session ends on time, even if Redis announces it late', async t => {
    const { store } = await openTracked(t, server)
    // Redis now looks for keys at their end once in a second.
    await server.cli('CONFIG', 'SET', 'hz', '1')
    t.teardown(() => server.cli('CONFIG', 'SET', 'hz', '10'))
    const end = Date.now() + 400
    const token = freshToken()
    await store.sessions.add('CONSUMER', token, record('CONSUMER', '1'), end)
    await store.sessions.find('CONSUMER', token)
    for (let before = Date.now(); ; before = Date.now()) {
      const remembered = isRemembered(store, token)
      if (before >= end) {
        t.equal(remembered, false)
        break
      }
      await new Promise(resolve => setImmediate(resolve))
    }
    t.equal(await store.sessions.find('CONSUMER', token), null)
  })

  await t.test('sessions that a store ends, renews or rewrites itself are evicted before the answer', async t => {
    const { store } = await openTracked(t, server)
    const { sessions } = store
    for (let i = 0; i < 150; i++) {
      const userId = String(i)
      const [one, two] = [await remember(store, userId), await remember(store, userId)]
      await sessions.renew('CONSUMER', userId, one, Date.now() + 5 * MINUTE)
      if (isRemembered(store, one)) t.fail('a renewed session is remembered with its old end')
      await untilRemembered(store, one)
      await sessions.replaceRecord('CONSUMER', userId, one, () => ({ version: 'two' }))
      if (isRemembered(store, one)) t.fail('a rewritten session is remembered with its old record')
      await untilRemembered(store, one)
      await sessions.remove('CONSUMER', userId, one)
      if (isRemembered(store, one)) t.fail('a removed session is remembered')
      await sessions.removeAll('CONSUMER', userId)
      if (isRemembered(store, two)) t.fail('a session is remembered whose user was kicked out')
    }
  })

  await t.test('a user who logs in after a kickout is soon remembered again', async t => {
    const { store } = await openTracked(t, server, LASTING)
    await remember(store, '1')
    await store.sessions.removeAll('CONSUMER', '1')
    t.equal(isRemembered(store, await remember(store, '1')), true)
  })

  await t.test('a side without cache queries Redis every time', async t => {
    const { store } = await openTracked(t, server, { business: 'off' })
    await remember(store)
    const token = freshToken()
    await store.sessions.add('BUSINESS', token, record('BUSINESS', '1'), Date.now() + LONG)
    for (let i = 0; i < 3; i++) t.match(await store.sessions.find('BUSINESS', token), { user_id: '1' })
    t.equal(isRemembered(store, token, 'BUSINESS'), false)
  })

  await t.test('a token cached on one side is not valid on the other', async t => {
    const { store } = await openTracked(t, server, LASTING)
    const token = await remember(store)
    t.equal(await store.sessions.find('BUSINESS', token), null)
    t.equal(isRemembered(store, token, 'BUSINESS'), false)
    t.equal(isRemembered(store, token), true)
  })

  await t.test('a cached record is shared by many requests and cannot be changed', async t => {
    const { store } = await openTracked(t, server)
    const token = freshToken()
    const stored = record('CONSUMER', '1', { roles: ['a'] })
    await store.sessions.add('CONSUMER', token, stored, Date.now() + LONG)
    await until(() => isRemembered(store, token))
    const found = await store.sessions.find('CONSUMER', token)
    t.throws(() => (found?.extra.roles as string[]).push('SUPER_ADMIN'), TypeError)
    t.strictSame(await store.sessions.find('CONSUMER', token), stored)
  })

  await t.test('a Redis that refuses tracking is queried every time, and this is logged once', async t => {
    await server.cli('ACL', 'SETUSER', 'plain', 'on', 'nopass', '~*', '&*', '+@all', '-client|tracking')
    const { store, log } = await openTracked(t, { url: server.url.replace('://', '://plain:x@') })
    const refusals = () => log.filter(({ msg }) => /sessions are not cached: Redis refuses/.test(msg))
    await until(() => refusals().length > 0)
    const token = freshToken()
    await store.sessions.add('CONSUMER', token, record('CONSUMER', '1'), Date.now() + LONG)
    for (let i = 0; i < 3; i++) t.match(await store.sessions.find('CONSUMER', token), { user_id: '1' })
    t.equal(isRemembered(store, token), false)
    t.equal(refusals().length, 1)
  })
})
