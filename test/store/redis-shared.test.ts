import t, { type Test } from 'tap'
import { DAY, systemClock } from '../../src/base/clock.ts'
import { type RedisServer, withoutRedis } from '../support/redis-server.ts'
import { isLeftOf } from '../support/time-left.ts'
import { PATIENCE } from '../support/until.ts'
import { freshToken, MINUTE, record } from './contract-fixture.ts'
import { fixture, login, openConnected } from './redis-trial.ts'

/** Seconds that a key has left, as another program would ask. */
const ttl = async (server: RedisServer, key: string): Promise<number> => Number(await server.cli('TTL', key))

/** Compares what keys have left with what they were given, less what has passed since then. */
function aboutIn(t: Test, server: RedisServer) {
  const began = performance.now()
  return async (key: string, wanted: number, what: string): Promise<void> => {
    const left = await ttl(server, key)
    t.ok(isLeftOf(wanted, left, performance.now() - began), `${what}: ${left} s, expected ${wanted}`)
  }
}

t.test('a session that one gateway ends is refused by another', { skip: withoutRedis }, async t => {
  const { server, store: one } = await fixture(t, PATIENCE)
  const other = await openConnected({ url: server.url }, PATIENCE)
  t.teardown(() => other.close())
  let stale = 0
  for (let i = 0; i < 1000; i++) {
    const [here, there] = i % 2 === 0 ? [one, other] : [other, one]
    const token = await login(here)
    if ((await there.sessions.find('BUSINESS', token)) === null) t.fail('a login is not seen')
    await (i % 4 < 2 ? here.sessions.remove('BUSINESS', '1', token) : here.sessions.removeAll('BUSINESS', '1'))
    if ((await there.sessions.find('BUSINESS', token)) !== null) stale++
  }
  t.equal(stale, 0)
})

for (const [where, apart] of [
  ['behind', -DAY],
  ['ahead', DAY],
] as const) {
  const name = `captchas, tickets and locks last as long as they are to where the clock of the gateway is a day ${where}`
  t.test(name, { skip: withoutRedis }, async t => {
    const { server } = await fixture(t, PATIENCE)
    const clock = { ...systemClock, now: () => systemClock.now() + apart }
    const store = await openConnected({ url: server.url }, PATIENCE, clock)
    t.teardown(() => store.close())
    const about = aboutIn(t, server)
    const until = clock.now() + MINUTE
    await store.captchas.put('BUSINESS', 'id', 'text', until)
    t.equal(await store.captchas.outstanding('BUSINESS'), 1)
    await store.tickets.put('BUSINESS', 'id', 'text', until)
    await store.attempts.set('locked', 60, until)
    for (const key of (await server.cli('KEYS', 'svc:auth:*'))
      .split('\n')
      .filter(key => /captcha|ticket|locked/.test(key)))
      await about(key, 60, key)
    t.equal(await store.captchas.take('BUSINESS', 'id'), 'text')
    t.equal(await store.tickets.take('BUSINESS', 'id'), 'text')
    t.equal((await store.attempts.read('locked'))?.count, 60)
  })
}

t.test('the stored data is as specified, with its keys and lifetimes', { skip: withoutRedis }, async t => {
  const { server, store } = await fixture(t, PATIENCE)
  await server.cli('FLUSHDB')
  const about = aboutIn(t, server)
  const stored = { ...record('CONSUMER', '7'), extra: { nickname: 'Ada' } }
  await store.sessions.add('CONSUMER', 'a.b.c', stored, systemClock.now() + 10 * MINUTE)
  await store.sessions.disable('BUSINESS', '7', systemClock.now() + MINUTE)
  const keys = (await server.cli('KEYS', 'svc:auth:*')).split('\n')
  // Beside keys of the gateway's own: the indexes and the journal.
  const own = keys.filter(key => !key.includes(':idx:') && key !== 'svc:auth:journal')
  t.strictSame(own.sort(), [
    'svc:auth:BUSINESS:disable:7',
    'svc:auth:CONSUMER:session:7',
    'svc:auth:CONSUMER:token:a.b.c',
  ])
  t.strictSame(JSON.parse(await server.cli('GET', 'svc:auth:CONSUMER:token:a.b.c')), stored)
  t.equal(await server.cli('SMEMBERS', 'svc:auth:CONSUMER:session:7'), 'a.b.c')
  t.equal(await server.cli('GET', 'svc:auth:BUSINESS:disable:7'), '1')
  await about('svc:auth:CONSUMER:token:a.b.c', 600, 'the record')
  await about('svc:auth:CONSUMER:session:7', 600, 'the set')
  await about('svc:auth:BUSINESS:disable:7', 60, 'the disable record')

  t.equal(await store.sessions.renew('CONSUMER', '7', 'a.b.c', systemClock.now() + MINUTE), true)
  await about('svc:auth:CONSUMER:token:a.b.c', 60, 'the record, renewed to a shorter life')
  await about('svc:auth:CONSUMER:session:7', 60, 'and its set with it')
  await store.sessions.renew('CONSUMER', '7', 'a.b.c', systemClock.now() + 20 * MINUTE)
  await about('svc:auth:CONSUMER:token:a.b.c', 1200, 'the record, renewed to a longer life')
  await about('svc:auth:CONSUMER:session:7', 1200, 'and its set with it')

  await store.sessions.removeAll('CONSUMER', '7')
  t.equal(await server.cli('EXISTS', 'svc:auth:CONSUMER:token:a.b.c', 'svc:auth:CONSUMER:session:7'), '0')
  const kept = (await server.cli('KEYS', 'svc:auth:*:kicked:*')).split('\n')
  for (const key of kept) await about(key, 300, 'the mark of a kickout')
})

t.test('a record that another program wrote is a session like ours', { skip: withoutRedis }, async t => {
  const { server, store } = await fixture(t, PATIENCE)
  const { sessions } = store
  const foreign = { user_id: '42', type: 'BUSINESS', created_at: '2025-03-01T08:00:00Z', extra: { from: 'elsewhere' } }
  const [eternal, brief, gone] = ['x.eternal.z', 'x.brief.z', 'x.gone.z']
  await server.cli('SET', `svc:auth:BUSINESS:token:${eternal}`, JSON.stringify(foreign))
  await server.cli('SET', `svc:auth:BUSINESS:token:${brief}`, JSON.stringify(foreign), 'EX', '60')
  await server.cli('SADD', 'svc:auth:BUSINESS:session:42', eternal, brief, gone)

  t.strictSame(await sessions.find('BUSINESS', eternal), foreign)
  t.equal(await sessions.find('BUSINESS', gone), null)
  t.equal(await sessions.find('CONSUMER', eternal), null, 'not on the other side')
  t.equal(await sessions.tokenExpiresAt('BUSINESS', eternal), Number.POSITIVE_INFINITY)
  t.same(
    (await sessions.tokens('BUSINESS', '42')).map(({ token }) => token),
    [brief, eternal],
  )
  t.equal(
    await server.cli('SISMEMBER', 'svc:auth:BUSINESS:session:42', gone),
    '0',
    'a member without a record is dropped',
  )
  t.equal(await sessions.sessionExpiresAt('BUSINESS', '42'), Number.POSITIVE_INFINITY)

  const about = aboutIn(t, server)
  t.equal(await sessions.renew('BUSINESS', '42', eternal, systemClock.now() + 10 * MINUTE), true)
  await about(`svc:auth:BUSINESS:token:${eternal}`, 600, 'a record without an end gets one')
  t.equal(await ttl(server, 'svc:auth:BUSINESS:session:42'), -1, 'a set without an end keeps outliving it')
  t.equal(await sessions.remove('BUSINESS', '1', eternal), false, 'not by another user')
  t.equal(await sessions.removeAll('BUSINESS', '42'), 2)
  for (const token of [eternal, brief]) t.equal(await sessions.find('BUSINESS', token), null)
})

t.test(
  'a login does not survive a kickout that begins as the count of earlier ones ends',
  { skip: withoutRedis },
  async t => {
    const { server, store } = await fixture(t, PATIENCE)
    const { sessions } = store
    const other = await openConnected({ url: server.url }, PATIENCE)
    t.teardown(() => other.close())
    await sessions.removeAll('BUSINESS', '1')
    const client = store.connections.store as unknown as { sessionEnter(...args: unknown[]): Promise<number> }
    const enter = client.sessionEnter
    client.sessionEnter = async (...args) => {
      // A pipeline takes the functions of its client.
      client.sessionEnter = enter
      await server.cli('DEL', 'svc:auth:BUSINESS:kicked:1')
      await other.sessions.removeAll('BUSINESS', '1')
      return enter.apply(client, args)
    }
    const token = freshToken()
    const end = systemClock.now() + MINUTE
    t.same(await sessions.add('BUSINESS', token, record('BUSINESS', '1'), end), {
      admitted: false,
      disabledUntil: null,
    })
    t.equal(await sessions.find('BUSINESS', token), null)
  },
)

t.test('an invalid record under the key of a token is not a session', { skip: withoutRedis }, async t => {
  const { server, store } = await fixture(t, PATIENCE)
  const values = ['', '{', 'null', '[]', '"x"', '{"user_id":7,"type":"BUSINESS"}', '{"user_id":"7","type":"CONSUMER"}']
  for (const value of values) {
    await server.cli('SET', 'svc:auth:BUSINESS:token:a.b.c', value)
    t.equal(await store.sessions.find('BUSINESS', 'a.b.c'), null, value)
  }
})
