import { open, type RootDatabase } from 'lmdb'
import t from 'tap'
import { type EmbeddedStore, openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { createTestClock } from '../support/clock.ts'
import { PATIENCE } from '../support/until.ts'
import type { StoreUnderTest } from './contract.ts'
import { MINUTE } from './contract-fixture.ts'
import { asCreatedAt, enter, usersOnline } from './contract-online.ts'

const START = Date.UTC(2025, 0, 31, 12)
const DAY = 86_400_000
const HOUR = 3_600_000

interface Fixture extends StoreUnderTest {
  store: EmbeddedStore
  folder: string
  clock: ReturnType<typeof createTestClock>
}

async function openAt(folder: string, time = START): Promise<Fixture> {
  const clock = createTestClock(time)
  const store = await openEmbeddedStore(folder, clock, PATIENCE)
  const fastForward = async (ms: number) => {
    clock.time += ms
  }
  return { store, clock, began: null, folder, fastForward, announces: true, close: () => store.close() }
}

/** Changes the rows of a table behind the store's back, while it is closed, and opens it again. */
async function behind(fixture: Fixture, change: (root: RootDatabase) => void): Promise<Fixture> {
  await fixture.store.sweep()
  await fixture.store.close()
  const root = open({ path: `${fixture.folder}/sessions.mdb`, noSubdir: true, maxDbs: 32 })
  await root.transaction(() => change(root))
  await root.close()
  return openAt(fixture.folder, fixture.clock.time)
}

const tableOf = (root: RootDatabase, name: string) =>
  root.openDB<string, Buffer>(name, { encoding: 'string', keyEncoding: 'binary' })

const everyThird = (root: RootDatabase, name: string): void => {
  const table = tableOf(root, name)
  for (const [i, key] of Array.from(table.getKeys({ start: Buffer.from([0]) })).entries()) {
    if (i % 3 === 0) table.removeSync(key)
  }
}

await t.test('any place in the order is found, for logins within one second or over years', async t => {
  const fixture = await openAt(t.testdir())
  t.teardown(() => fixture.close())
  const ages = [0, 1000, 15_000, 16_000, 17_000, HOUR, HOUR + 1000, 5 * HOUR, DAY, 12 * DAY, 13 * DAY, 400 * DAY]
  const logins = Array.from({ length: 1200 }, (_, i) => ({ userId: `u${i}`, ago: ages[(i * i) % ages.length] ?? 0 }))
  logins.push({ userId: 'first', ago: START - 1000 })
  await Promise.all(logins.map(({ userId, ago }) => enter(fixture, userId, { ago })))
  const leavers = logins.filter((_, i) => i % 5 === 0)
  await Promise.all(leavers.map(({ userId }) => fixture.store.sessions.removeAll('BUSINESS', userId)))
  const expected = logins
    .filter((_, i) => i % 5 !== 0)
    .toSorted((a, b) => a.ago - b.ago || (a.userId < b.userId ? -1 : 1))
    .map(({ userId }) => userId)
  for (let offset = 0; offset < expected.length; offset += 7) {
    const { total, userIds } = await fixture.store.online.page('BUSINESS', { offset, limit: 9 })
    t.equal(total, expected.length)
    t.strictSame(userIds, expected.slice(offset, offset + 9), `from ${offset} on`)
  }
})

await t.test('a record with an invalid creation counts as the oldest login, and on no day', async t => {
  const fixture = await openAt(t.testdir())
  t.teardown(() => fixture.close())
  await enter(fixture, 'a', { ago: START })
  for (const [userId, created_at] of [
    ['b', 'yesterday'],
    ['c', ''],
    ['d', '9999-99-99 99:99:99'],
  ] as const) {
    await fixture.store.sessions.add(
      'BUSINESS',
      userId,
      { user_id: userId, type: 'BUSINESS', created_at, extra: {} },
      Infinity,
    )
  }
  t.strictSame((await usersOnline(fixture)).toSorted(), ['a', 'b', 'c', 'd'])
  t.strictSame((await usersOnline(fixture)).slice(1), ['a', 'b', 'c'])
  t.strictSame(await fixture.store.online.loginsOn('BUSINESS', ['yesterday', '']), [0, 0])
})

await t.test('logins are remembered by the minute for a day, and by the day for eight', async t => {
  const fixture = await openAt(t.testdir())
  t.teardown(() => fixture.close())
  const { online } = fixture.store
  const since = (ago: number) => online.loginsSince('BUSINESS', fixture.clock.now() - ago)
  for (let i = 0; i < 3; i++) {
    for (let n = 0; n <= i; n++) await enter(fixture, 'a', { lifetime: MINUTE })
    await fixture.fastForward(10 * MINUTE)
  }
  t.equal(await since(5 * MINUTE), 0)
  t.equal(await since(10 * MINUTE), 3)
  t.equal(await since(20 * MINUTE), 5)
  t.equal(await since(HOUR), 6)
  await fixture.fastForward(DAY - 30 * MINUTE)
  await fixture.store.sweep()
  t.equal(await since(DAY), 6)
  t.equal(await since(DAY - 10 * MINUTE), 5)
  await fixture.fastForward(DAY)
  t.equal(await since(DAY), 0)
  await fixture.fastForward(6 * DAY)
  await fixture.store.sweep()
  t.strictSame(await online.loginsOn('BUSINESS', [asCreatedAt(START).slice(0, 10)]), [6])
  await fixture.fastForward(3 * DAY)
  t.strictSame(await online.loginsOn('BUSINESS', [asCreatedAt(START).slice(0, 10)]), [0])
})

await t.test('a keyword with very many matches finds a thousand users', async t => {
  const fixture = await openAt(t.testdir())
  t.teardown(() => fixture.close())
  const extra = { username: 'bananarama', nickname: 'Anna' }
  await Promise.all(Array.from({ length: 1200 }, (_, i) => enter(fixture, `u${i}`, { extra })))
  await enter(fixture, 'anna')
  for (const keyword of ['banana', 'bananarama']) {
    const { total, userIds } = await fixture.store.online.page('BUSINESS', { offset: 990, limit: 20, keyword })
    t.strictSame([total, userIds.length], [1000, 10], keyword)
  }
  t.ok((await usersOnline(fixture, 'anna')).includes('anna'), 'the exact user id is found before all others')
})

await t.test('if more sessions have expired than a query removes, the sweep corrects the counts', async t => {
  const fixture = await openAt(t.testdir())
  t.teardown(() => fixture.close())
  await Promise.all(
    Array.from({ length: 1500 }, (_, i) => enter(fixture, `u${i}`, { lifetime: i < 1300 ? MINUTE : HOUR })),
  )
  await fixture.fastForward(MINUTE)
  t.equal((await fixture.store.online.tally('BUSINESS')).tokens, 500)
  t.equal((await fixture.store.online.tally('BUSINESS')).tokens, 200)
  t.equal((await usersOnline(fixture)).length, 200)
})

await t.test('names leave the index a week after the last session', async t => {
  const fixture = await openAt(t.testdir())
  await enter(fixture, 'a', { extra: { username: 'Ada' }, lifetime: MINUTE })
  await fixture.fastForward(MINUTE)
  await fixture.store.sweep()
  await fixture.fastForward(7 * DAY)
  // Before the sweep removes the old names the user is back with others.
  await enter(fixture, 'a', { extra: { username: 'Grace' }, lifetime: MINUTE })
  await fixture.store.sweep()
  t.strictSame(await usersOnline(fixture, 'grace'), ['a'])
  await fixture.store.sessions.removeAll('BUSINESS', 'a')
  await fixture.fastForward(7 * DAY)
  await fixture.store.sweep()
  const again = await behind(fixture, root => {
    const names = tableOf(root, 'names')
    t.strictSame(
      [...names.getKeys({ start: Buffer.from([0]) })].map(key => names.get(key)),
      [''],
    )
  })
  await again.close()
})

for (const table of ['members', 'people', 'online', 'names']) {
  await t.test(`a reindex restores lost rows of the table ${table}`, async t => {
    const first = await openAt(t.testdir())
    const enterOne = (i: number) =>
      enter(first, `u${i % 600}`, { ago: i * 1000, extra: { username: `name ${i % 600}` } })
    await Promise.all(Array.from({ length: 700 }, (_, i) => enterOne(i)))
    await enter(first, 'c', { type: 'CONSUMER' })
    const [all, tally, named] = [
      await usersOnline(first),
      await first.store.online.tally('BUSINESS'),
      await usersOnline(first, 'me 5'),
    ]
    const second = await behind(first, root => everyThird(root, table))
    t.teardown(() => second.close())
    t.equal(await second.store.online.reindex('BUSINESS', () => undefined), 700)
    t.equal(await second.store.online.reindex('CONSUMER', () => undefined), 1)
    t.strictSame(await usersOnline(second), all)
    t.strictSame(await second.store.online.tally('BUSINESS'), tally)
    t.strictSame(await usersOnline(second, 'me 5'), named)
    await Promise.all(all.map(userId => second.store.sessions.removeAll('BUSINESS', userId)))
    t.strictSame(await second.store.online.tally('BUSINESS'), { users: 0, tokens: 0, maxTokensPerUser: 0 })
  })
}

await t.test('a reindex removes superfluous rows', async t => {
  const first = await openAt(t.testdir())
  await Promise.all(
    Array.from({ length: 300 }, (_, i) => enter(first, `u${i}`, { ago: i * 1000, extra: { username: `name ${i}` } })),
  )
  const second = await behind(first, root => everyThird(root, 'tokens'))
  t.teardown(() => second.close())
  t.equal(await second.store.online.reindex('BUSINESS', () => undefined), 200)
  t.equal((await usersOnline(second)).length, 200)
  for (const userId of await usersOnline(second))
    t.equal((await second.store.sessions.tokens('BUSINESS', userId)).length, 1)
})

await t.test('an interrupted reindex can be run again', async t => {
  const first = await openAt(t.testdir())
  await Promise.all(Array.from({ length: 300 }, (_, i) => enter(first, `u${i}`)))
  const second = await behind(first, root => everyThird(root, 'online'))
  t.teardown(() => second.close())
  let steps = 0
  const interrupt = () => {
    if (++steps === 4) throw new Error('interrupted')
  }
  await t.rejects(second.store.online.reindex('BUSINESS', interrupt), /interrupted/)
  t.equal(await second.store.online.reindex('BUSINESS', () => undefined), 300)
  t.equal((await usersOnline(second)).length, 300)
})
