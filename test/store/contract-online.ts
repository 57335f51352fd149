import type { Test } from 'tap'
import type { Extra } from '../../src/session/record.ts'
import type { LoginType } from '../../src/session/sides.ts'
import type { StoreTest, StoreUnderTest } from './contract.ts'
import { freshToken, MINUTE, record, SLACK } from './contract-fixture.ts'

const DAY = 86_400_000
const HOUR = 3_600_000

interface Login {
  type?: LoginType
  extra?: Extra
  /** How many milliseconds before the present of the test the record says it was created. */
  ago?: number
  lifetime?: number
}

/** A timestamp as records hold it. */
export const asCreatedAt = (timestamp: number): string =>
  new Date(timestamp).toISOString().slice(0, 19).replace('T', ' ')

/** The date of a login of the test, so many milliseconds ago; also where a day ends while the test runs. */
export const dayOf = ({ began, clock }: StoreUnderTest, ago = 0): string =>
  asCreatedAt((began ?? clock.now()) - ago).slice(0, 10)

/** Logs a user in and answers the token. */
export async function enter(fixture: StoreUnderTest, userId: string, login: Login = {}): Promise<string> {
  const { store, clock } = fixture
  const began = fixture.began ?? clock.now()
  const { type = 'BUSINESS', extra = {}, ago = 0, lifetime = 60 * MINUTE } = login
  const token = freshToken()
  const created = { ...record(type, userId, extra), created_at: asCreatedAt(began - ago) }
  const admission = await store.sessions.add(type, token, created, clock.now() + lifetime)
  if (!admission.admitted) throw new Error(`${userId} was not admitted`)
  return token
}

/** Everybody online, or everybody whom a keyword finds; the newest login first. */
export async function usersOnline(
  { store }: StoreUnderTest,
  keyword = '',
  type: LoginType = 'BUSINESS',
): Promise<string[]> {
  const { total, userIds } = await store.online.page(type, { offset: 0, limit: 1000, keyword })
  if (total !== userIds.length) throw new Error(`${total} users in all, but ${userIds.length} were listed`)
  return userIds
}

const tallyOf = async ({ store }: StoreUnderTest, type: LoginType = 'BUSINESS'): Promise<number[]> => {
  const { users, tokens, maxTokensPerUser } = await store.online.tally(type)
  return [users, tokens, maxTokensPerUser]
}

/** The law of src/store/online.ts. */
export async function onlineLaw(test: StoreTest): Promise<void> {
  await pageLaw(test)
  await tallyLaw(test)
  await historyLaw(test)
  await keywordLaw(test)
  await reindexLaw(test)
  await simultaneityLaw(test)
}

async function pageLaw(test: StoreTest): Promise<void> {
  await test('without online users every query has an answer', async (t, fixture) => {
    const { online } = fixture.store
    t.strictSame(await online.page('BUSINESS', { offset: 0, limit: 10 }), { total: 0, userIds: [] })
    t.strictSame(await online.page('BUSINESS', { offset: 70, limit: 10, keyword: 'a' }), { total: 0, userIds: [] })
    t.strictSame(await tallyOf(fixture), [0, 0, 0])
    t.strictSame(await online.loginsOn('BUSINESS', ['2025-01-31', '2025-01-30']), [0, 0])
    t.strictSame(await online.loginsOn('BUSINESS', []), [])
    t.equal(await online.loginsSince('BUSINESS', fixture.clock.now() - HOUR), 0)
    t.equal(await online.reindex('BUSINESS', () => undefined), 0)
  })

  await test('who is online is listed by the newest login first, and by user id where they are of one second', async (t, fixture) => {
    for (const [userId, ago] of [
      ['c', 5000],
      ['b', 3000],
      ['x:1', 3000],
      ['a', 3000],
      ['d', 1000],
      ['e', 9000],
    ] as const) {
      await enter(fixture, userId, { ago })
    }
    t.strictSame(await usersOnline(fixture), ['d', 'a', 'b', 'x:1', 'c', 'e'])
  })

  await test('every user with a live token is listed, and no one of the other side', async (t, fixture) => {
    const everybody = Array.from({ length: 700 }, (_, i) => `u${i}:x`)
    await Promise.all(everybody.flatMap(userId => [enter(fixture, userId), enter(fixture, userId, { ago: 5000 })]))
    await enter(fixture, 'consumer', { type: 'CONSUMER' })
    await enter(fixture, 'gone')
    await fixture.store.sessions.removeAll('BUSINESS', 'gone')
    const listed = new Set<string>()
    let ended = 0
    for await (const userIds of fixture.store.online.users('BUSINESS')) {
      for (const userId of userIds) listed.add(userId)
      // Sessions that end meanwhile must not hide those of others.
      ended += await fixture.store.sessions.removeAll('BUSINESS', userIds[0]!)
    }
    t.ok(ended > 0)
    t.strictSame([...listed].toSorted(), everybody.toSorted())
    const consumers: string[] = []
    for await (const userIds of fixture.store.online.users('CONSUMER')) consumers.push(...userIds)
    t.strictSame(consumers, ['consumer'])
  })

  await test('pages follow each other without gap or repetition and end where the users end', async (t, fixture) => {
    const everybody = Array.from({ length: 300 }, (_, i) => `u${i}`)
    const logins = everybody.map((userId, i) =>
      enter(fixture, userId, { ago: Math.floor(((i * 7919) % 300) / 3) * 1000 }),
    )
    await Promise.all(logins)
    const all = await usersOnline(fixture)
    t.strictSame(all.toSorted(), everybody.toSorted())
    for (const limit of [1, 7, 100]) {
      const paged: string[] = []
      for (let offset = 0; offset < 300; offset += limit) {
        const { total, userIds } = await fixture.store.online.page('BUSINESS', { offset, limit })
        t.equal(total, 300)
        paged.push(...userIds)
      }
      t.strictSame(paged, all, `pages of ${limit}`)
    }
    t.strictSame(await fixture.store.online.page('BUSINESS', { offset: 295, limit: 10 }), {
      total: 300,
      userIds: all.slice(295),
    })
    t.strictSame(await fixture.store.online.page('BUSINESS', { offset: 300, limit: 10 }), { total: 300, userIds: [] })
  })

  await test('a user with several sessions is listed once, by the newest that lives', async (t, fixture) => {
    const { sessions } = fixture.store
    await enter(fixture, 'a', { ago: 9000 })
    const newest = await enter(fixture, 'a', { ago: 1000 })
    await enter(fixture, 'b', { ago: 5000 })
    await enter(fixture, 'a', { ago: 7000 })
    t.strictSame(await usersOnline(fixture), ['a', 'b'])
    await sessions.remove('BUSINESS', 'a', newest)
    t.strictSame(await usersOnline(fixture), ['b', 'a'])
    await enter(fixture, 'a')
    t.strictSame(await usersOnline(fixture), ['a', 'b'])
    await sessions.removeAll('BUSINESS', 'a')
    t.strictSame(await usersOnline(fixture), ['b'])
  })

  await test('a session that another user cannot end stays in the list', async (t, fixture) => {
    const token = await enter(fixture, 'a')
    await enter(fixture, 'b')
    await fixture.store.sessions.remove('BUSINESS', 'b', token)
    await fixture.store.sessions.remove('CONSUMER', 'a', token)
    t.strictSame(await usersOnline(fixture), ['a', 'b'])
    t.strictSame(await tallyOf(fixture), [2, 2, 1])
  })

  await test('a session leaves every answer when it expires, and not before; a renewed one stays', async (t, fixture) => {
    const extra = { username: 'Ada' }
    // A clock that goes on by itself may have passed over a second before the answers are there.
    const shortly = fixture.began === null ? SLACK : MINUTE / 2
    const renewed = await enter(fixture, 'renewed', { extra, lifetime: MINUTE, ago: 3000 })
    await enter(fixture, 'short', { extra, lifetime: 2 * MINUTE, ago: 2000 })
    await enter(fixture, 'both', { extra, lifetime: 10 * MINUTE, ago: 4000 })
    await enter(fixture, 'both', { extra: { username: 'Bob' }, lifetime: 2 * MINUTE, ago: 1000 })
    await fixture.store.sessions.renew('BUSINESS', 'renewed', renewed, fixture.clock.now() + 10 * MINUTE)
    await fixture.fastForward(2 * MINUTE - shortly)
    t.strictSame(await usersOnline(fixture), ['both', 'short', 'renewed'])
    t.strictSame(await usersOnline(fixture, 'ada'), ['short', 'renewed'])
    t.strictSame(await tallyOf(fixture), [3, 4, 2])
    await fixture.fastForward(shortly + SLACK)
    t.strictSame(await usersOnline(fixture), ['renewed', 'both'])
    t.strictSame(await usersOnline(fixture, 'ada'), ['renewed', 'both'])
    t.strictSame(await usersOnline(fixture, 'bob'), [])
    t.strictSame(await tallyOf(fixture), [2, 2, 1])
    await fixture.fastForward(9 * MINUTE)
    t.strictSame(await usersOnline(fixture), [])
    t.strictSame(await tallyOf(fixture), [0, 0, 0])
  })

  await test('nothing of one side is seen on the other', async (t, fixture) => {
    const extra = { username: 'ada' }
    await enter(fixture, 'a', { extra })
    for (let i = 0; i < 3; i++) await enter(fixture, 'c', { type: 'CONSUMER', extra })
    t.strictSame(await usersOnline(fixture), ['a'])
    t.strictSame(await usersOnline(fixture, 'ada'), ['a'])
    t.strictSame(await usersOnline(fixture, '', 'CONSUMER'), ['c'])
    t.strictSame(await tallyOf(fixture), [1, 1, 1])
    t.strictSame(await tallyOf(fixture, 'CONSUMER'), [1, 3, 3])
    t.strictSame(await fixture.store.online.loginsOn('BUSINESS', [dayOf(fixture)]), [1])
    t.equal(await fixture.store.online.loginsSince('CONSUMER', fixture.clock.now() - HOUR), 3)
    await fixture.store.sessions.removeAll('CONSUMER', 'c')
    t.strictSame(await usersOnline(fixture, 'a'), ['a'])
  })
}

async function tallyLaw(test: StoreTest): Promise<void> {
  await test('users and live tokens are counted, and the most that one user has', async (t, fixture) => {
    const { sessions } = fixture.store
    await enter(fixture, 'a')
    t.strictSame(await tallyOf(fixture), [1, 1, 1])
    const tokens = [await enter(fixture, 'b'), await enter(fixture, 'b'), await enter(fixture, 'b')]
    await enter(fixture, 'c')
    await enter(fixture, 'c')
    t.strictSame(await tallyOf(fixture), [3, 6, 3])
    for (let i = 0; i < 2; i++) await sessions.remove('BUSINESS', 'b', tokens[0] ?? '')
    t.strictSame(await tallyOf(fixture), [3, 5, 2])
    for (let i = 0; i < 2; i++) await sessions.removeAll('BUSINESS', 'b')
    t.strictSame(await tallyOf(fixture), [2, 3, 2])
    await sessions.removeAll('BUSINESS', 'c')
    t.strictSame(await tallyOf(fixture), [1, 1, 1])
    await sessions.removeAll('BUSINESS', 'a')
    t.strictSame(await tallyOf(fixture), [0, 0, 0])
  })

  await test('a login that is refused is neither online nor counted', async (t, fixture) => {
    const { sessions, online } = fixture.store
    await sessions.disable('BUSINESS', 'a', fixture.clock.now() + MINUTE)
    await t.rejects(enter(fixture, 'a'), /not admitted/)
    t.strictSame(await usersOnline(fixture), [])
    t.strictSame(await tallyOf(fixture), [0, 0, 0])
    t.strictSame(await online.loginsOn('BUSINESS', [dayOf(fixture)]), [0])
    t.equal(await online.loginsSince('BUSINESS', fixture.clock.now() - HOUR), 0)
  })
}

async function historyLaw(test: StoreTest): Promise<void> {
  await test('logins are counted on the day that their records name, whatever became of the sessions', async (t, fixture) => {
    const { sessions, online } = fixture.store
    const days = [2 * DAY, DAY, 0].map(ago => dayOf(fixture, ago))
    await enter(fixture, 'a', { ago: DAY })
    const token = await enter(fixture, 'a')
    await enter(fixture, 'b', { lifetime: MINUTE })
    await enter(fixture, 'c')
    t.strictSame(await online.loginsOn('BUSINESS', days), [0, 1, 3])
    await sessions.renew('BUSINESS', 'a', token, fixture.clock.now() + 2 * HOUR)
    await sessions.remove('BUSINESS', 'a', token)
    await sessions.removeAll('BUSINESS', 'c')
    await fixture.fastForward(MINUTE + SLACK)
    t.strictSame(await online.loginsOn('BUSINESS', days.toReversed()), [3, 1, 0])
    await fixture.fastForward(7 * DAY)
    t.strictSame(await tallyOf(fixture), [0, 0, 0])
    t.strictSame(await online.loginsOn('BUSINESS', days), [0, 1, 3], 'a week later')
  })

  await test('logins since a timestamp are counted to the minute, whatever became of the sessions', async (t, fixture) => {
    const { sessions, online } = fixture.store
    const began = fixture.clock.now()
    for (let i = 0; i < 3; i++) await enter(fixture, 'a', { lifetime: MINUTE })
    await enter(fixture, 'b')
    await sessions.removeAll('BUSINESS', 'b')
    t.equal(await online.loginsSince('BUSINESS', began - MINUTE), 4)
    t.equal(await online.loginsSince('BUSINESS', began - 23 * HOUR), 4)
    t.equal(await online.loginsSince('BUSINESS', fixture.clock.now() + 2 * MINUTE), 0)
    await fixture.fastForward(2 * MINUTE)
    t.strictSame(await tallyOf(fixture), [0, 0, 0])
    t.equal(await online.loginsSince('BUSINESS', began - MINUTE), 4)
  })
}

const PEOPLE: Record<string, Extra> = {
  '1923000000000000001': { username: 'ada.lovelace', nickname: 'Countess' },
  '1923000000000000002': { username: 'BobMcAllister', nickname: '李雷' },
  '1923000000000000003': { username: '韩梅梅', nickname: 'Han [梅] 100%_*?\\' },
  '1923000000000000004': { username: 'Élodie', nickname: 'ada' },
  '1923000000000000005': { email: 'ada@example.org', username: null, nickname: ['ada'] },
  '1923000000000000006': { username: '🦊 fox', nickname: 'a a' },
  'admin@example': { nickname: 'x'.repeat(4000) },
}

/** A keyword, and the last digits of the ids of the users that it finds, the newest login first. */
const KEYWORDS: [string, string][] = [
  ['ada', '41'],
  ['ADA', '41'],
  ['lovelace', '1'],
  ['.love', '1'],
  ['e', '421'],
  ['countess', '1'],
  ['unt', '1'],
  ['McA', '2'],
  ['mcallister', '2'],
  ['ister', '2'],
  ['李', '2'],
  ['雷', '2'],
  ['李雷', '2'],
  ['雷李', ''],
  ['梅', '3'],
  ['梅梅', '3'],
  ['[', '3'],
  ['[梅]', '3'],
  ['100%_*?\\', '3'],
  ['*', '3'],
  ['?', '3'],
  ['_', '3'],
  ['\\', '3'],
  ['%', '3'],
  ['élo', '4'],
  ['ÉLODIE', '4'],
  ['lodie', '4'],
  ['🦊', '6'],
  ['x f', ''],
  ['a a', '6'],
  ['example.org', ''],
  ['ada.lovelace1', ''],
  ['bobmcallisterx', ''],
  ['countess ada', ''],
  ['lovelacecountess', ''],
  ['1923000000000000005', '5'],
  ['192300000000000000', ''],
  ['admin@example', 'e'],
  ['ADMIN@EXAMPLE', ''],
  ['xxxxxxxxxxxxxxxxxxxx', 'e'],
  ['null', ''],
  ['\u0000', ''],
]

async function keywordLaw(test: StoreTest): Promise<void> {
  await test('a keyword finds a user id exactly, or any part of a username or nickname in any case', async (t, fixture) => {
    for (const [i, [userId, extra]] of Object.entries(PEOPLE).entries()) {
      await enter(fixture, userId, { extra, ago: 100_000 - i * 1000 })
    }
    for (const [keyword, found] of KEYWORDS) {
      const expected = [...found].map(last => Object.keys(PEOPLE).find(userId => userId.endsWith(last)))
      t.strictSame(await usersOnline(fixture, keyword), expected, JSON.stringify(keyword))
    }
    t.equal((await usersOnline(fixture, '')).length, 7, 'nothing to look for finds everybody')
  })

  await test('a keyword is compared with user ids and with parts of names', async (t, fixture) => {
    await enter(fixture, 'ada', { extra: { username: 'grace' }, ago: 3000 })
    await enter(fixture, 'b', { extra: { username: 'ada' }, ago: 2000 })
    await enter(fixture, 'c', { extra: { username: 'ad' }, ago: 1000 })
    await enter(fixture, 'Ada', { extra: { nickname: 'ada' } })
    t.strictSame(await usersOnline(fixture, 'ada'), ['Ada', 'b', 'ada'])
    t.strictSame(await usersOnline(fixture, 'Ada'), ['Ada', 'b'])
  })

  await test('what a keyword finds comes in pages, the newest login first', async (t, fixture) => {
    const logins = Array.from({ length: 40 }, (_, i) =>
      enter(fixture, `u${i}`, { ago: i * 1000, extra: { username: `${i % 2 ? 'odd' : 'even'}-${i}`, nickname: 'od' } }),
    )
    await Promise.all(logins)
    const odd = Array.from({ length: 20 }, (_, i) => `u${2 * i + 1}`)
    t.strictSame(await usersOnline(fixture, 'odd-'), odd)
    const page = (offset: number) => fixture.store.online.page('BUSINESS', { offset, limit: 8, keyword: 'odd' })
    t.strictSame(await page(0), { total: 20, userIds: odd.slice(0, 8) })
    t.strictSame(await page(16), { total: 20, userIds: odd.slice(16) })
    t.strictSame(await page(24), { total: 20, userIds: [] })
  })

  await test('a keyword finds 1000 users where more have it, and the exact user id among them', async (t, fixture) => {
    for (let i = 0; i < 1100; i += 100) {
      const extra = (n: number) => ({ username: `banana${n}`, nickname: 'Anna Banana' })
      await Promise.all(Array.from({ length: 100 }, (_, n) => enter(fixture, `u${i + n}`, { extra: extra(i + n) })))
    }
    await enter(fixture, 'an', { ago: 5000 })
    for (const keyword of ['banana', 'an', 'nana']) {
      const { total, userIds } = await fixture.store.online.page('BUSINESS', { offset: 990, limit: 20, keyword })
      t.strictSame([total, userIds.length], [1000, 10], keyword)
    }
    t.ok((await usersOnline(fixture, 'an')).includes('an'))
    t.equal((await usersOnline(fixture, 'banana10')).length, 111)
  })

  await test('users are found by the names of their newest live session, and by no other', async (t, fixture) => {
    const { sessions } = fixture.store
    await enter(fixture, 'a', { extra: { username: 'first' }, ago: 3000 })
    const second = await enter(fixture, 'a', { extra: { username: 'second', nickname: 'new' }, ago: 1000 })
    await enter(fixture, 'a', { extra: { username: 'third' }, ago: 2000 })
    t.strictSame(await usersOnline(fixture, 'second'), ['a'])
    t.strictSame(await usersOnline(fixture, 'new'), ['a'])
    for (const old of ['first', 'third']) t.strictSame(await usersOnline(fixture, old), [], old)
    await sessions.remove('BUSINESS', 'a', second)
    t.strictSame(await usersOnline(fixture, 'third'), ['a'])
    for (const old of ['first', 'second', 'new']) t.strictSame(await usersOnline(fixture, old), [], old)
    await sessions.removeAll('BUSINESS', 'a')
    for (const old of ['first', 'second', 'third', 'a']) t.strictSame(await usersOnline(fixture, old), [], old)
    await enter(fixture, 'a', { extra: { username: 'fourth' } })
    t.strictSame(await usersOnline(fixture, 'fourth'), ['a'])
    t.strictSame(await usersOnline(fixture, 'third'), [])
    await sessions.removeAll('BUSINESS', 'a')
    await enter(fixture, 'a', { extra: { username: 'fourth' } })
    t.strictSame(await usersOnline(fixture, 'FOUR'), ['a'])
  })
}

async function reindexLaw(test: StoreTest): Promise<void> {
  await test('building the view anew leaves a right one as it is, and says how far it is', async (t, fixture) => {
    const { online } = fixture.store
    for (let i = 0; i < 60; i++) await enter(fixture, `u${i % 40}`, { ago: i * 1000, extra: { username: `name ${i}` } })
    await enter(fixture, 'c', { type: 'CONSUMER' })
    await fixture.store.sessions.removeAll('BUSINESS', 'u7')
    const [all, tally, found] = [
      await usersOnline(fixture),
      await tallyOf(fixture),
      await usersOnline(fixture, 'name 1'),
    ]
    for (let round = 0; round < 2; round++) {
      const steps: [number, number][] = []
      t.equal(await online.reindex('BUSINESS', (...step) => steps.push(step)), 58)
      t.ok(steps.length > 0)
      t.ok(steps.every(([done, total], i) => done <= total && done >= (steps[i - 1]?.[0] ?? 0)))
      t.strictSame(await usersOnline(fixture), all)
      t.strictSame(await tallyOf(fixture), tally)
      t.strictSame(await usersOnline(fixture, 'name 1'), found)
      t.strictSame(await tallyOf(fixture, 'CONSUMER'), [1, 1, 1])
    }
  })

  await test('while the view is built anew, logins and kickouts go on and are seen', async (t, fixture) => {
    for (let i = 0; i < 100; i++) await enter(fixture, `old${i}`, { ago: 5000 })
    const rebuilt = fixture.store.online.reindex('BUSINESS', () => undefined)
    const changes = Array.from({ length: 50 }, async (_, i) => {
      await enter(fixture, `new${i}`, { extra: { username: 'new' } })
      await fixture.store.sessions.removeAll('BUSINESS', `old${i}`)
    })
    await Promise.all([rebuilt, ...changes])
    t.equal((await usersOnline(fixture)).length, 100)
    t.equal((await usersOnline(fixture, 'new')).length, 50)
    t.strictSame(await tallyOf(fixture), [100, 100, 1])
  })
}

async function simultaneityLaw(test: StoreTest): Promise<void> {
  await test('after logins, logouts and kickouts at once, the counts equal the sessions that live', async (t, fixture) => {
    const { sessions } = fixture.store
    const users = Array.from({ length: 12 }, (_, i) => `u${i}`)
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        users.flatMap((userId, i) => [
          logInAndOut(fixture, userId, i + round),
          logInAndOut(fixture, userId, i),
          i % 3 === round % 3 ? sessions.removeAll('BUSINESS', userId) : null,
          fixture.store.online.page('BUSINESS', { offset: 0, limit: 5 }),
        ]),
      )
      await expectTruth(t, fixture, users)
    }
  })
}

async function logInAndOut(fixture: StoreUnderTest, userId: string, seed: number): Promise<void> {
  // A kickout at the same time may refuse it, which is right.
  const extra = { username: `name ${seed % 4}` }
  const token = await enter(fixture, userId, { extra, ago: (seed % 5) * 1000 }).catch(() => '')
  if (seed % 2 === 0) await fixture.store.sessions.remove('BUSINESS', userId, token)
}

/** The view of some users, who are all there are, against the truth: their tokens. */
async function expectTruth(t: Test, fixture: StoreUnderTest, users: readonly string[]): Promise<void> {
  const sets = await Promise.all(
    users.map(async userId => ({ userId, live: await fixture.store.sessions.tokens('BUSINESS', userId) })),
  )
  const present = sets.filter(({ live }) => live.length > 0)
  const sizes = present.map(({ live }) => live.length)
  t.strictSame((await usersOnline(fixture)).toSorted(), present.map(({ userId }) => userId).toSorted())
  t.strictSame(await tallyOf(fixture), [present.length, sizes.reduce((sum, n) => sum + n, 0), Math.max(0, ...sizes)])
  for (let name = 0; name < 4; name++) {
    const named = present.filter(({ live }) => live.at(-1)?.record.extra.username === `name ${name}`)
    const found = await usersOnline(fixture, `name ${name}`)
    t.strictSame(found.toSorted(), named.map(({ userId }) => userId).toSorted())
  }
}
