import { LISTED_AT_MOST } from '../../src/store/store.ts'
import type { StoreTest, StoreUnderTest } from './contract.ts'
import { freshToken, isLive, MINUTE, tokensOf } from './contract-fixture.ts'
import { enter } from './contract-online.ts'

/** More than any store reads, ends or surveys at once. */
const MANY = 1700
/** No verb works on more tokens of a user at a time. */
const LARGEST_BATCH = 500

/** Logs a user in `MANY` times, a second apart, and answers the tokens, oldest first. */
async function enterMany(fixture: StoreUnderTest, userId: string): Promise<string[]> {
  const tokens: string[] = []
  for (let i = 0; i < MANY; i += 100) {
    const logins = Array.from({ length: 100 }, (_, n) =>
      enter(fixture, userId, { ago: (MANY - i - n) * 1000, extra: { username: 'many' } }),
    )
    tokens.push(...(await Promise.all(logins)))
  }
  return tokens
}

/** The law of users who have very many sessions. */
export async function manyLaw(test: StoreTest): Promise<void> {
  await test('the sessions of a user are counted, listed and surveyed, however many there are', async (t, fixture) => {
    const { sessions, online } = fixture.store
    const tokens = await enterMany(fixture, '1')
    t.equal(await sessions.count('BUSINESS', '1'), MANY)
    t.same(
      (await sessions.tokens('BUSINESS', '1', 3)).map(({ token }) => token),
      tokens.slice(-3),
    )
    t.same(await tokensOf(fixture, 'BUSINESS', '1'), tokens)
    t.ok(tokens.length <= LISTED_AT_MOST)
    const overview = await sessions.overview('BUSINESS', '1')
    t.equal(overview?.count, MANY)
    t.equal(overview?.newest.record.extra.username, 'many')
    const longest = (await sessions.tokens('BUSINESS', '1')).reduce(
      (last, { expiresAt }) => Math.max(last, expiresAt),
      0,
    )
    t.ok(Math.abs((overview?.expiresAt ?? 0) - longest) < 1000)
    t.ok(((await sessions.sessionExpiresAt('BUSINESS', '1')) ?? 0) > longest - 100)
    t.same(await online.tally('BUSINESS'), { users: 1, tokens: MANY, maxTokensPerUser: MANY })
    t.same(await online.page('BUSINESS', { offset: 0, limit: 10, keyword: 'many' }), { total: 1, userIds: ['1'] })
    const seen: string[] = []
    for await (const batch of sessions.batches('BUSINESS', '1')) {
      t.ok(batch.length <= LARGEST_BATCH)
      seen.push(...batch.map(({ token }) => token))
    }
    t.same(seen.toSorted(), tokens.toSorted())
    t.equal(await online.reindex('BUSINESS', () => undefined), MANY)
    t.same(await online.tally('BUSINESS'), { users: 1, tokens: MANY, maxTokensPerUser: MANY })
  })

  await test('a user with thousands of sessions is ended while others are served', async (t, fixture) => {
    const { sessions, online } = fixture.store
    const tokens = await enterMany(fixture, '1')
    t.equal(await sessions.remove('BUSINESS', '1', tokens[0]!), true)
    t.equal(await sessions.remove('BUSINESS', '1', tokens.at(-1)!), true)
    const kickout = sessions.removeAll('BUSINESS', '1')
    const other = await enter(fixture, '2')
    t.ok((await sessions.count('BUSINESS', '1')) > 0, 'another user signs in before the kickout is through')
    t.equal(await kickout, MANY - 2)
    for (const token of tokens) if (await isLive(fixture, 'BUSINESS', token)) t.fail('a session outlived the kickout')
    t.same(await tokensOf(fixture, 'BUSINESS', '1'), [])
    t.equal(await sessions.overview('BUSINESS', '1'), null)
    t.equal(await isLive(fixture, 'BUSINESS', other), true)
    t.same(await online.tally('BUSINESS'), { users: 1, tokens: 1, maxTokensPerUser: 1 })
  })

  await test('some tokens are ended, of the given user only, and those that were live are named', async (t, fixture) => {
    const { sessions, online } = fixture.store
    const own = await Promise.all(Array.from({ length: 700 }, () => enter(fixture, '1')))
    const other = await enter(fixture, '2')
    const ended = await sessions.removeSome('BUSINESS', '1', [...own.slice(0, 600), other, freshToken()])
    t.same(ended.toSorted(), own.slice(0, 600).toSorted())
    t.same((await tokensOf(fixture, 'BUSINESS', '1')).toSorted(), own.slice(600).toSorted())
    t.equal(await isLive(fixture, 'BUSINESS', other), true)
    t.same(await sessions.removeSome('BUSINESS', '1', own.slice(0, 600)), [], 'twice equals once')
    t.same(await online.tally('BUSINESS'), { users: 2, tokens: 101, maxTokensPerUser: 100 })
  })

  await test('logins that overlap the end of thousands of sessions are dead, or can be ended', async (t, fixture) => {
    const { sessions } = fixture.store
    await enterMany(fixture, '1')
    const kickout = sessions.removeAll('BUSINESS', '1')
    const overlapping = await Promise.all(Array.from({ length: 50 }, () => enter(fixture, '1').catch(() => null)))
    await kickout
    const listed = await tokensOf(fixture, 'BUSINESS', '1')
    for (const token of overlapping) {
      if (token === null || !(await isLive(fixture, 'BUSINESS', token))) continue
      t.ok(listed.includes(token), 'what lives is in the set')
    }
    await sessions.removeAll('BUSINESS', '1')
    for (const token of overlapping) {
      t.notOk(token !== null && (await isLive(fixture, 'BUSINESS', token)), 'and can be ended')
    }
  })

  await test('thousands of expired sessions of one user leave the view', async (t, fixture) => {
    const { sessions, online } = fixture.store
    await enterMany(fixture, '1')
    const last = await enter(fixture, '1', { lifetime: 300 * MINUTE })
    await fixture.fastForward(61 * MINUTE)
    t.same(await tokensOf(fixture, 'BUSINESS', '1'), [last])
    t.equal((await sessions.overview('BUSINESS', '1'))?.count, 1)
    for (let asked = 0; asked < 50 && (await online.tally('BUSINESS')).tokens > 1; asked++);
    t.same(await online.tally('BUSINESS'), { users: 1, tokens: 1, maxTokensPerUser: 1 })
    t.equal(await online.reindex('BUSINESS', () => undefined), 1)
    t.equal(await sessions.removeAll('BUSINESS', '1'), 1)
  })
}
