import t, { type Test } from 'tap'
import { writeRecord } from '../../src/session/record.ts'
import { createAges } from '../../src/store/age.ts'
import { createKeys } from '../../src/store/redis/commands/key-names.ts'
import { onlineCommandsOn } from '../../src/store/redis/online/commands.ts'
import { OnlineComparison } from '../../src/store/redis/online/compare.ts'
import { digestOf, entryOf } from '../../src/store/redis/online/entries.ts'
import { OnlineWriter } from '../../src/store/redis/online/writes.ts'
import type { RedisStore } from '../../src/store/redis/redis.ts'
import type { SessionStore } from '../../src/store/store.ts'
import { type RedisServer, startRedis, withoutRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import type { StoreUnderTest } from './contract.ts'
import { freshToken, MINUTE, record, SLACK, tokensOf } from './contract-fixture.ts'
import { asCreatedAt, dayOf, enter, usersOnline } from './contract-online.ts'
import { openRedisUnderTest } from './redis-under-test.ts'

/*
 * What the view in Redis owes beside the law of all stores: it stands beside keys that other programs write and delete,
 * and may itself be damaged, late or away.
 */

const keys = createKeys('svc:auth')
const key = (part: string): string => keys.online('BUSINESS', part)
const DAY = 86_400_000
/** Of a user without sessions. */
const NO_SESSIONS: Pick<SessionStore, 'batches'> = { batches: async function* () {} }

interface Fixture extends StoreUnderTest {
  server: RedisServer
  /** Another gateway on the same Redis. */
  openAnother(): Promise<StoreUnderTest>
}

await t.test('the online users in a Redis', { skip: withoutRedis }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())

  const test = (statement: string, body: (t: Test, fixture: Fixture) => Promise<void>) =>
    t.test(statement, async t => {
      const fixture = await openRedisUnderTest({ url: server.url })
      t.teardown(() => fixture.close())
      const openAnother = async () => {
        const another = await openRedisUnderTest({ url: server.url }, { flush: false })
        t.teardown(() => another.close())
        return another
      }
      await body(t, { ...fixture, server, openAnother })
    })

  const tally = async ({ store }: StoreUnderTest): Promise<number[]> =>
    Object.values(await store.online.tally('BUSINESS'))

  /** Stores a session as another program would. */
  async function storeForeign(fixture: Fixture, userId: string, createdAt: string, name: string): Promise<string> {
    const token = freshToken()
    const stored = { ...record('BUSINESS', userId, { username: name }), created_at: createdAt }
    await server.cli('SET', keys.token('BUSINESS', token), writeRecord(stored), 'PX', String(MINUTE))
    await server.cli('SADD', keys.session('BUSINESS', userId), token)
    await fixture.server.cli('PEXPIRE', keys.session('BUSINESS', userId), String(MINUTE))
    return token
  }

  /** From now on no round begins on the B side: one may come at any time, and would find what the test looks at before. */
  async function holdRounds({ store }: StoreUnderTest): Promise<void> {
    await server.cli('SET', key('upkeep'), 'no round can begin', 'PX', String(10 * MINUTE))
    await (store as RedisStore).settled()
  }

  /** Asks until the answer is right, for as long as some sweeps take. */
  async function eventually(t: Test, ask: () => Promise<unknown>, expected: unknown, what: string): Promise<void> {
    await until(async () => JSON.stringify(await ask()) === JSON.stringify(expected)).catch(() => undefined)
    t.strictSame(await ask(), expected, what)
  }

  await test('a session that another program stored is online once it was seen, and its login counts', async (t, fixture) => {
    await holdRounds(fixture)
    await enter(fixture, 'ours')
    const token = await storeForeign(fixture, 'theirs', '2025-01-31T12:00:00Z', 'Grace')
    t.strictSame(await usersOnline(fixture), ['ours'])
    t.strictSame(await tokensOf(fixture, 'BUSINESS', 'theirs'), [token])
    t.strictSame(await usersOnline(fixture), ['ours', 'theirs'])
    t.strictSame(await usersOnline(fixture, 'grace'), ['theirs'])
    t.strictSame(await tally(fixture), [2, 2, 1])
    for (let i = 0; i < 2; i++) await tokensOf(fixture, 'BUSINESS', 'theirs')
    t.strictSame(await fixture.store.online.loginsOn('BUSINESS', ['2025-01-31']), [1])
    t.equal(await fixture.store.sessions.removeAll('BUSINESS', 'theirs'), 1)
    t.strictSame(await tally(fixture), [1, 1, 1])
  })

  await test('a session that another program renewed, and we then, is online as long as it lives', async (t, fixture) => {
    const token = await storeForeign(fixture, 'a', asCreatedAt(fixture.clock.now()), 'Ada')
    await fixture.store.sessions.renew('BUSINESS', 'a', token, fixture.clock.now() + 10 * MINUTE)
    await eventually(t, () => usersOnline(fixture), ['a'], 'a renewal takes it in')
    await fixture.fastForward(5 * MINUTE)
    t.strictSame(await usersOnline(fixture, 'ada'), ['a'])
  })

  await test('a session that another program deleted leaves every answer once it is seen to be gone', async (t, fixture) => {
    const [token] = [await enter(fixture, 'a', { extra: { username: 'Ada' } }), await enter(fixture, 'b')]
    await enter(fixture, 'b')
    await server.cli('DEL', keys.token('BUSINESS', token))
    t.strictSame(await tokensOf(fixture, 'BUSINESS', 'a'), [])
    t.strictSame(await usersOnline(fixture), ['b'])
    t.strictSame(await usersOnline(fixture, 'ada'), [])
    t.strictSame(await tally(fixture), [1, 2, 2])
    await server.cli('DEL', ...(await tokensOf(fixture, 'BUSINESS', 'b')).map(token => keys.token('BUSINESS', token)))
    await server.cli('DEL', keys.session('BUSINESS', 'b'))
    t.strictSame(await tokensOf(fixture, 'BUSINESS', 'b'), [])
    t.strictSame(await tally(fixture), [0, 0, 0])
  })

  await test('a session that another program deleted is removed by the scan, without a request for it', async (t, fixture) => {
    const token = await enter(fixture, 'a')
    for (let i = 0; i < 300; i++) await enter(fixture, `u${i}`)
    await server.cli('DEL', keys.token('BUSINESS', token))
    await server.cli('DEL', key('upkeep'))
    await eventually(t, () => tally(fixture), [300, 300, 1], 'the round has come by')
  })

  await test('a login id that another program disabled is listed once the scan has come by, and by a reindex', async (t, fixture) => {
    const { sessions, online } = fixture.store
    const disabled = async () => (await online.disabled('BUSINESS', { offset: 0, limit: 10 })).userIds
    await enter(fixture, 'a')
    await server.cli('SET', keys.disable('BUSINESS', 'x:y'), '1', 'PX', String(10 * MINUTE))
    await server.cli('SET', keys.disable('BUSINESS', 'for-ever'), '1')
    await server.cli('SET', keys.disable('CONSUMER', 'c'), '1', 'PX', String(MINUTE))
    await server.cli('SET', `${keys.token('BUSINESS', 'disable:t')}`, '{}', 'PX', String(MINUTE))
    await eventually(t, disabled, ['x:y', 'for-ever'], 'the round has come by')
    t.equal(await sessions.untieDisable('BUSINESS', 'for-ever'), true)
    t.strictSame(await disabled(), ['x:y'])

    await server.cli('DEL', key('disabled'))
    t.equal(await online.reindex('BUSINESS', () => undefined), 1)
    t.strictSame(await disabled(), ['x:y'])
  })

  await test('a disable holds while the list of the disabled cannot be written, and is on it as soon as it can', async (t, fixture) => {
    const store = fixture.store as RedisStore
    // Below a prefix of its own, where no round corrects the list.
    const own = createKeys('own:auth')
    const view = onlineCommandsOn(store.connections.store, store.repeats.ask, own, fixture.clock)
    const until = fixture.clock.now() + MINUTE
    const truth = { ...NO_SESSIONS, disabledUntil: async () => until }
    const comparison = new OnlineComparison(view, truth as unknown as SessionStore, fixture.clock, createAges())
    const writer = new OnlineWriter(view, comparison, fixture.clock, createAges())
    const disabled = async () => (await view.disabledPage('BUSINESS', 0, 10)).slice(1)
    await server.cli('SET', own.online('BUSINESS', 'disabled'), 'no sorted set', 'PX', String(MINUTE))
    writer.disabled('BUSINESS', 'a', until)
    await writer.settled()
    await server.cli('DEL', own.online('BUSINESS', 'disabled'))
    t.strictSame(await disabled(), [])
    await writer.compareDoubted()
    t.strictSame(await disabled(), ['a'])
  })

  await test('what could not be written is right with the next question after it can be', async (t, fixture) => {
    await enter(fixture, 'a')
    await server.cli('RENAME', key('users'), 'put-aside')
    await server.cli('SET', key('users'), 'no hash', 'PX', String(MINUTE))
    await enter(fixture, 'b', { extra: { username: 'Bea' } })
    await (fixture.store as RedisStore).settled()
    await server.cli('RENAME', 'put-aside', key('users'))
    t.strictSame(await usersOnline(fixture, 'bea'), ['b'])
    t.strictSame(await tally(fixture), [2, 2, 1])
  })

  await test('what has expired is swept from every key, and no key of the view is without an end', async (t, fixture) => {
    for (let i = 0; i < 50; i++)
      await enter(fixture, `u${i % 40}`, { lifetime: MINUTE, extra: { username: `name ${i}` } })
    await fixture.store.sessions.removeAll('BUSINESS', 'u7')
    const parts = async () => (await server.cli('KEYS', 'svc:auth:*:idx:*')).split('\n').filter(name => name !== '')
    t.ok((await parts()).length >= 8)
    for (const name of await parts()) t.ok(Number(await server.cli('PTTL', name)) > 0, name)
    await fixture.fastForward(MINUTE + SLACK)
    const left = async () => (await parts()).filter(name => !/:(logins|upkeep)\b/.test(name))
    await eventually(t, left, [], 'nothing but the counts of logins is left')
  })

  await test('a login that is reported after the end of its token does not revive it', async (t, fixture) => {
    const store = fixture.store as RedisStore
    await holdRounds(fixture)
    const view = onlineCommandsOn(store.connections.store, store.repeats.ask, keys, fixture.clock)
    const entry = entryOf(
      { token: 'late', record: record('BUSINESS', 'a'), expiresAt: fixture.clock.now() + MINUTE },
      createAges(),
    )
    await view.leave('BUSINESS', 'a', [digestOf('late')])
    await view.enter('BUSINESS', 'a', entry, 1)
    t.strictSame(await tally(fixture), [0, 0, 0])
    await view.enter('BUSINESS', 'a', { ...entry, digest: digestOf('other') }, 1)
    t.strictSame(await tally(fixture), [1, 1, 1])
  })

  await test('logins and kickouts go on while the view cannot be written, which is right again soon after', async (t, fixture) => {
    await enter(fixture, 'a')
    await enter(fixture, 'b', { ago: 2000 })
    await server.cli('RENAME', key('users'), 'put-aside')
    await server.cli('SET', key('users'), 'no hash', 'PX', String(MINUTE))
    const token = await enter(fixture, 'c')
    t.strictSame(await tokensOf(fixture, 'BUSINESS', 'c'), [token])
    t.equal(await fixture.store.sessions.removeAll('BUSINESS', 'a'), 1)
    t.equal(await fixture.store.sessions.renew('BUSINESS', 'c', token, fixture.clock.now() + 2 * MINUTE), true)
    await server.cli('RENAME', 'put-aside', key('users'))
    await eventually(
      t,
      async () => [await usersOnline(fixture), await tally(fixture)],
      [
        ['c', 'b'],
        [2, 2, 1],
      ],
      'right again',
    )
  })

  await test('a reindex restores every lost part of the online users, and removes entries without a user', async (t, fixture) => {
    const { online } = fixture.store
    for (let i = 0; i < 200; i++) {
      await enter(fixture, `u${i % 120}`, { ago: i * 1000, extra: { username: `name ${i}`, nickname: '李雷' } })
    }
    const answers = async () => [
      await usersOnline(fixture),
      await tally(fixture),
      await usersOnline(fixture, '李'),
      await usersOnline(fixture, '119'),
    ]
    const right = await answers()
    for (const part of ['online', 'tokens', 'recent', 'counts', 'users', 'names', 'leaves']) {
      await server.cli('DEL', key(part))
      t.equal(await online.reindex('BUSINESS', () => undefined), 200)
      t.strictSame(await answers(), right, part)
    }
    const later = String(fixture.clock.now() + DAY)
    for (const part of ['online', 'recent', 'counts']) await server.cli('ZADD', key(part), later, 'stranger')
    await server.cli('ZADD', key('tokens'), later, `${digestOf('x')}stranger`, later, `${digestOf('x')}u1`)
    await server.cli('HSET', key('users'), 'ghost', `${digestOf('y')}20250131120000GHOST\n`)
    await online.reindex('BUSINESS', () => undefined)
    t.strictSame(await answers(), right, 'strangers')
    for (const part of ['online', 'recent', 'users']) {
      const size = await server.cli(part === 'users' ? 'HLEN' : 'ZCARD', key(part))
      t.equal(Number(size), 120, part)
    }
  })

  await test('old minutes and days of logins are dropped, the latest are kept', async (t, fixture) => {
    const minute = Math.floor(fixture.clock.now() / MINUTE)
    const days = Array.from({ length: 100 }, (_, i) => dayOf(fixture, i * DAY))
    const minutes = Array.from({ length: 2000 }, (_, i) => [`m${minute - i}`, '1'])
    await server.cli('HSET', key('logins'), ...minutes.flat(), ...days.flatMap(day => [`d${day}`, '1']))
    await enter(fixture, 'a')
    t.ok(Number(await server.cli('HLEN', key('logins'))) < 1600)
    t.strictSame(await fixture.store.online.loginsOn('BUSINESS', days.slice(0, 30)), [2, ...Array(29).fill(1)])
    // The minute may have changed meanwhile.
    t.ok([21, 22].includes(await fixture.store.online.loginsSince('BUSINESS', fixture.clock.now() - 20 * MINUTE)))
  })

  await test('two gateways have one view', async (t, fixture) => {
    const other = await fixture.openAnother()
    const users = Array.from({ length: 40 }, (_, i) => `u${i}`)
    await Promise.all(users.map((userId, i) => enter(i % 2 === 0 ? fixture : other, userId, { ago: i * 1000 })))
    await Promise.all(
      users.map((userId, i) => i % 4 < 2 && enter(i % 2 === 0 ? other : fixture, userId, { ago: i * 1000 })),
    )
    await Promise.all(
      users.map(
        (userId, i) => i % 5 === 0 && (i % 2 === 0 ? other : fixture).store.sessions.removeAll('BUSINESS', userId),
      ),
    )
    const left = users.filter((_, i) => i % 5 !== 0)
    const tokens = left.reduce((sum, userId) => sum + (Number(userId.slice(1)) % 4 < 2 ? 2 : 1), 0)
    for (const gateway of [fixture, other]) {
      t.strictSame(await usersOnline(gateway), left)
      t.strictSame(await tally(gateway), [left.length, tokens, 2])
    }
  })

  await test('names come and go by the hundred and are found, and nothing is left of them', async (t, fixture) => {
    const syllables = ['ba', 'na', 'li', '李', '雷', 'x', 'o']
    const nameOf = (i: number) => [0, 1, 2, 3, 4].map(n => syllables[Math.floor(i / 7 ** n) % 7]).join('')
    const users = Array.from({ length: 600 }, (_, i) => ({ userId: `u${i}`, name: nameOf(i * 31) }))
    let present: typeof users = []
    const expectFound = async () => {
      for (const keyword of ['banana', 'li李', '雷', 'x', 'oxo', 'nali']) {
        const expected = present.filter(({ name }) => name.includes(keyword)).map(({ userId }) => userId)
        t.strictSame(
          (await usersOnline(fixture, keyword)).toSorted(),
          expected.toSorted(),
          `${keyword} of ${present.length}`,
        )
      }
    }
    for (const seed of [1, 2, 3]) {
      await Promise.all(
        users
          .filter(user => !present.includes(user))
          .map(({ userId, name }) => enter(fixture, userId, { extra: { username: name } })),
      )
      present = users
      await expectFound()
      const leaving = users.filter((_, i) => (i * 7919 * seed) % 10 < 8)
      await Promise.all(leaving.map(({ userId }) => fixture.store.sessions.removeAll('BUSINESS', userId)))
      present = users.filter(user => !leaving.includes(user))
      await expectFound()
    }
    await Promise.all(users.map(({ userId }) => fixture.store.sessions.removeAll('BUSINESS', userId)))
    t.equal(await server.cli('ZCARD', key('leaves')), '0')
    t.equal(await server.cli('HLEN', key('names')), '0')
  })
})
