import type { Extra } from '../../src/session/record.ts'
import type { StoreTest } from './contract.ts'
import { ahead, freshToken, isLive, login, MINUTE, record, SLACK, tokensOf } from './contract-fixture.ts'

export async function sessionLaw(test: StoreTest): Promise<void> {
  await tokenLaw(test)
  await endLaw(test)
  await renewLaw(test)
  await replaceLaw(test)
  await setLaw(test)
  await isolationLaw(test)
  await concurrencyLaw(test)
}

async function tokenLaw(test: StoreTest): Promise<void> {
  await test('a token finds the record it was stored with', async (t, { store, clock }) => {
    const token = freshToken()
    const stored = record('CONSUMER', '1923000000000000001', { nickname: 'Ada', roles: ['a', 'b'], level: 3 })
    t.same(await store.sessions.add('CONSUMER', token, stored, clock.now() + MINUTE), { admitted: true })
    t.strictSame(await store.sessions.find('CONSUMER', token), stored)
  })

  await test('extra comes back as it went in, whatever its names and texts are', async (t, { store, clock }) => {
    const extra = JSON.parse(
      '{"__proto__":{"admin":true},"constructor":{"prototype":1},"中文":{"深":[null,true,1.5,"🦊","\\u0000\\ud800"]},"":""}',
    )
    const token = freshToken()
    await store.sessions.add('BUSINESS', token, record('BUSINESS', '1', extra), clock.now() + MINUTE)
    const found = (await store.sessions.find('BUSINESS', token))?.extra
    t.equal(JSON.stringify(found), JSON.stringify(extra))
    t.ok(Object.hasOwn(found ?? {}, '__proto__'))
    t.equal((found as { admin?: unknown }).admin, undefined, '__proto__ is data, never a prototype')
    t.equal(JSON.stringify((await store.sessions.tokens('BUSINESS', '1'))[0]?.record.extra), JSON.stringify(extra))
  })

  await test('a token that was never stored is absent, also one too long to be stored', async (t, fixture) => {
    const { sessions } = fixture.store
    for (const token of [freshToken(), 'x', 'y'.repeat(4096), '中'.repeat(1500)]) {
      t.equal(await sessions.find('BUSINESS', token), null)
      t.equal(await sessions.tokenExpiresAt('BUSINESS', token), null)
      t.equal(await sessions.remove('BUSINESS', '1', token), false)
      t.equal(await sessions.renew('BUSINESS', '1', token, fixture.clock.now() + MINUTE), false)
      t.equal(await sessions.find('BUSINESS', token), null)
    }
    t.strictSame(await sessions.tokens('BUSINESS', '1'), [])
  })

  await test('a token lives as long as it was given, and no longer', async (t, fixture) => {
    const token = await login(fixture, 'BUSINESS', '1', 10 * MINUTE)
    ahead(t, fixture, await fixture.store.sessions.tokenExpiresAt('BUSINESS', token), 10 * MINUTE, 'at login')
    await fixture.fastForward(9 * MINUTE)
    t.equal(await isLive(fixture, 'BUSINESS', token), true)
    ahead(t, fixture, await fixture.store.sessions.tokenExpiresAt('BUSINESS', token), MINUTE, 'after nine minutes')
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await isLive(fixture, 'BUSINESS', token), false)
    t.equal(await fixture.store.sessions.tokenExpiresAt('BUSINESS', token), null)
    t.equal(await fixture.store.sessions.sessionExpiresAt('BUSINESS', '1'), null)
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [])
  })

  await test('an expired token cannot be ended, counted or renewed', async (t, fixture) => {
    const { sessions } = fixture.store
    const token = await login(fixture, 'BUSINESS', '1', MINUTE)
    const other = await login(fixture, 'BUSINESS', '1', 5 * MINUTE)
    await fixture.fastForward(2 * MINUTE)
    t.equal(await sessions.renew('BUSINESS', '1', token, fixture.clock.now() + MINUTE), false)
    t.equal(await sessions.remove('BUSINESS', '1', token), false)
    t.equal(await isLive(fixture, 'BUSINESS', token), false)
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [other])
    t.equal(await sessions.removeAll('BUSINESS', '1'), 1)
  })

  await test('a login stored twice is one login', async (t, { store, clock }) => {
    const token = freshToken()
    for (let i = 0; i < 2; i++) {
      await store.sessions.add('BUSINESS', token, record('BUSINESS', '1'), clock.now() + MINUTE)
    }
    t.equal((await store.sessions.tokens('BUSINESS', '1')).length, 1)
    t.equal(await store.sessions.removeAll('BUSINESS', '1'), 1)
    t.equal(await store.sessions.find('BUSINESS', token), null)
  })
}

async function endLaw(test: StoreTest): Promise<void> {
  await test('a removed token is gone at once, and its user keeps the others', async (t, fixture) => {
    const [first, second] = [
      await login(fixture, 'BUSINESS', '1', MINUTE),
      await login(fixture, 'BUSINESS', '1', MINUTE),
    ]
    t.equal(await fixture.store.sessions.remove('BUSINESS', '1', first), true)
    t.equal(await isLive(fixture, 'BUSINESS', first), false)
    t.equal(await isLive(fixture, 'BUSINESS', second), true)
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [second])
    t.equal(await fixture.store.sessions.remove('BUSINESS', '1', first), false, 'twice equals once')
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [second])
  })

  await test('removing a token of another user changes nothing and returns false', async (t, fixture) => {
    const token = await login(fixture, 'BUSINESS', '1', MINUTE)
    await login(fixture, 'BUSINESS', '2', MINUTE)
    for (const stranger of ['2', '3', '', '1 ', '1:', '11']) {
      t.equal(await fixture.store.sessions.remove('BUSINESS', stranger, token), false)
    }
    t.equal(await isLive(fixture, 'BUSINESS', token), true)
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [token])
    t.equal((await tokensOf(fixture, 'BUSINESS', '2')).length, 1)
  })

  await test('a kickout ends every token of the user, returns their number, and affects no other user', async (t, fixture) => {
    const own = await Promise.all([1, 2, 3].map(() => login(fixture, 'BUSINESS', '1', MINUTE)))
    const others = {
      neighbour: await login(fixture, 'BUSINESS', '10', MINUTE),
      otherSide: await login(fixture, 'CONSUMER', '1', MINUTE),
    }
    t.equal(await fixture.store.sessions.removeAll('BUSINESS', '1'), 3)
    for (const token of own) t.equal(await isLive(fixture, 'BUSINESS', token), false)
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [])
    t.equal(await fixture.store.sessions.sessionExpiresAt('BUSINESS', '1'), null)
    t.equal(await isLive(fixture, 'BUSINESS', others.neighbour), true)
    t.equal(await isLive(fixture, 'CONSUMER', others.otherSide), true)
    t.equal(await fixture.store.sessions.removeAll('BUSINESS', '1'), 0, 'twice equals once')
    t.equal(await fixture.store.sessions.removeAll('BUSINESS', 'absent'), 0)
  })

  await test('a user who was kicked out logs in again', async (t, fixture) => {
    await login(fixture, 'BUSINESS', '1', MINUTE)
    await fixture.store.sessions.removeAll('BUSINESS', '1')
    const token = await login(fixture, 'BUSINESS', '1', MINUTE)
    t.equal(await isLive(fixture, 'BUSINESS', token), true)
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [token])
  })

  await test('every deletion that was confirmed is seen by the next question', async (t, fixture) => {
    let seenAlive = 0
    for (let i = 0; i < 100; i++) {
      const token = await login(fixture, 'CONSUMER', '1', MINUTE)
      await (i % 2 === 0
        ? fixture.store.sessions.remove('CONSUMER', '1', token)
        : fixture.store.sessions.removeAll('CONSUMER', '1'))
      if (await isLive(fixture, 'CONSUMER', token)) seenAlive++
    }
    t.equal(seenAlive, 0)
  })
}

async function renewLaw(test: StoreTest): Promise<void> {
  await test('a renewal sets a later end, and the session lives with it', async (t, fixture) => {
    const { sessions } = fixture.store
    const token = await login(fixture, 'BUSINESS', '1', MINUTE)
    for (let i = 0; i < 2; i++) {
      t.equal(await sessions.renew('BUSINESS', '1', token, fixture.clock.now() + 10 * MINUTE), true)
    }
    ahead(t, fixture, await sessions.tokenExpiresAt('BUSINESS', token), 10 * MINUTE, 'token')
    ahead(t, fixture, await sessions.sessionExpiresAt('BUSINESS', '1'), 10 * MINUTE, 'session')
    await fixture.fastForward(9 * MINUTE)
    t.equal(await isLive(fixture, 'BUSINESS', token), true)
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [token])
    t.equal(await sessions.removeAll('BUSINESS', '1'), 1, 'a kickout still finds it')
    t.equal(await isLive(fixture, 'BUSINESS', token), false)
  })

  await test('a renewal sets an earlier end too', async (t, fixture) => {
    const { sessions } = fixture.store
    const token = await login(fixture, 'BUSINESS', '1', 10 * MINUTE)
    t.equal(await sessions.renew('BUSINESS', '1', token, fixture.clock.now() + MINUTE), true)
    ahead(t, fixture, await sessions.tokenExpiresAt('BUSINESS', token), MINUTE, 'token')
    ahead(t, fixture, await sessions.sessionExpiresAt('BUSINESS', '1'), MINUTE, 'session of its only token')
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await isLive(fixture, 'BUSINESS', token), false)
    t.equal(await sessions.sessionExpiresAt('BUSINESS', '1'), null)
  })

  await test('a renewal can make its end of what is stored', async (t, fixture) => {
    const { sessions } = fixture.store
    const token = await login(fixture, 'BUSINESS', '1', MINUTE)
    await sessions.replaceRecord('BUSINESS', '1', token, () => ({ minutes: 10 }))
    const endOf = ({ minutes }: Extra): number => fixture.clock.now() + Number(minutes) * MINUTE
    t.equal(await sessions.renew('BUSINESS', '1', token, endOf), true)
    ahead(t, fixture, await sessions.tokenExpiresAt('BUSINESS', token), 10 * MINUTE, 'token')
    ahead(t, fixture, await sessions.sessionExpiresAt('BUSINESS', '1'), 10 * MINUTE, 'session')
    t.equal(await sessions.renew('BUSINESS', '1', freshToken(), endOf), false)
  })

  await test('a renewal changes nothing but the end', async (t, fixture) => {
    const { sessions } = fixture.store
    const token = freshToken()
    const stored = record('BUSINESS', '1', { role: 'operator', 中文: '名' })
    await sessions.add('BUSINESS', token, stored, fixture.clock.now() + MINUTE)
    await sessions.renew('BUSINESS', '1', token, fixture.clock.now() + 2 * MINUTE)
    t.strictSame(await sessions.find('BUSINESS', token), stored)
  })

  await test('a renewal never brings a token back', async (t, fixture) => {
    const { sessions } = fixture.store
    const renew = (token: string) => sessions.renew('BUSINESS', '1', token, fixture.clock.now() + 10 * MINUTE)
    const removed = await login(fixture, 'BUSINESS', '1', MINUTE)
    await sessions.remove('BUSINESS', '1', removed)
    const kicked = await login(fixture, 'BUSINESS', '1', MINUTE)
    await sessions.removeAll('BUSINESS', '1')
    for (const token of [removed, kicked, freshToken()]) {
      t.equal(await renew(token), false)
      t.equal(await isLive(fixture, 'BUSINESS', token), false)
    }
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [])
    t.equal(await sessions.sessionExpiresAt('BUSINESS', '1'), null)
  })

  await test('a token renewed while its user is kicked out is dead', async (t, fixture) => {
    const { sessions } = fixture.store
    for (let i = 0; i < 40; i++) {
      const token = await login(fixture, 'BUSINESS', '1', MINUTE)
      const later = () => sessions.renew('BUSINESS', '1', token, fixture.clock.now() + 10 * MINUTE)
      await Promise.all([later(), sessions.removeAll('BUSINESS', '1'), later()])
      t.equal(await isLive(fixture, 'BUSINESS', token), false)
      t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [])
    }
  })
}

async function replaceLaw(test: StoreTest): Promise<void> {
  await test('a replaced record is found at once, and the session keeps its end', async (t, fixture) => {
    const { sessions } = fixture.store
    for (const type of ['BUSINESS', 'CONSUMER'] as const) {
      const token = await login(fixture, type, '1', 10 * MINUTE)
      const found = await sessions.find(type, token)
      for (const version of ['one', 'two']) {
        const extra = { version, 中文: '名' }
        t.equal(await sessions.replaceRecord(type, '1', token, () => extra), true)
        t.strictSame(await sessions.find(type, token), { ...found, extra })
      }
      ahead(t, fixture, await sessions.tokenExpiresAt(type, token), 10 * MINUTE, 'token')
      t.strictSame(await tokensOf(fixture, type, '1'), [token])
      t.equal(await sessions.removeAll(type, '1'), 1, 'a kickout still finds it')
      t.equal(await isLive(fixture, type, token), false)
    }
  })

  await test('a record is replaced as it is stored, whatever was read of it before', async (t, fixture) => {
    const { sessions } = fixture.store
    const token = await login(fixture, 'CONSUMER', '1', MINUTE)
    const before = (await sessions.find('CONSUMER', token))!
    for (const key of ['one', 'two'])
      await sessions.replaceRecord('CONSUMER', '1', token, stored => ({ ...stored, [key]: true }))
    t.strictSame((await sessions.find('CONSUMER', token))?.extra, { ...before.extra, one: true, two: true })
  })

  await test('of records that are replaced at once each is made of the one before, and none is lost', async (t, fixture) => {
    const { sessions } = fixture.store
    const token = await login(fixture, 'BUSINESS', '1', 10 * MINUTE)
    const keys = Array.from({ length: 10 }, (_, i) => `key${i}`)
    const replaced = await Promise.all(
      keys.map(key => sessions.replaceRecord('BUSINESS', '1', token, stored => ({ ...stored, [key]: true }))),
    )
    t.ok(replaced.every(Boolean))
    t.same(Object.keys((await sessions.find('BUSINESS', token))!.extra).sort(), keys)
    ahead(t, fixture, await sessions.tokenExpiresAt('BUSINESS', token), 10 * MINUTE, 'token')
  })

  await test('a replaced record expires with its session', async (t, fixture) => {
    const { sessions } = fixture.store
    const token = await login(fixture, 'CONSUMER', '1', MINUTE)
    await sessions.replaceRecord('CONSUMER', '1', token, () => ({ version: 'two' }))
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await isLive(fixture, 'CONSUMER', token), false)
    t.strictSame(await tokensOf(fixture, 'CONSUMER', '1'), [])
  })

  await test('only a live token of the user gets another record, and none is brought back', async (t, fixture) => {
    const { sessions } = fixture.store
    const replace = (userId: string, token: string) =>
      sessions.replaceRecord('BUSINESS', userId, token, () => ({ version: 'two' }))
    const removed = await login(fixture, 'BUSINESS', '1', MINUTE)
    await sessions.remove('BUSINESS', '1', removed)
    for (const token of [removed, freshToken()]) {
      t.equal(await replace('1', token), false)
      t.equal(await isLive(fixture, 'BUSINESS', token), false)
    }
    const own = await login(fixture, 'BUSINESS', '1', MINUTE)
    t.equal(await replace('2', own), false)
    t.strictSame(await sessions.find('BUSINESS', own), record('BUSINESS', '1'))
    const consumer = await login(fixture, 'CONSUMER', '1', MINUTE)
    t.equal(await replace('1', consumer), false, 'of the other side')
    t.strictSame(await sessions.find('CONSUMER', consumer), record('CONSUMER', '1'))
  })

  await test('a token whose record is replaced while its user is kicked out is dead', async (t, fixture) => {
    const { sessions } = fixture.store
    for (let i = 0; i < 40; i++) {
      const token = await login(fixture, 'BUSINESS', '1', MINUTE)
      const replace = () => sessions.replaceRecord('BUSINESS', '1', token, () => ({ i }))
      // Each begins a question to the store later than the one before.
      const later = async (questions: number): Promise<void> => {
        for (let asked = 0; asked < questions; asked++) await sessions.count('BUSINESS', '1')
        await replace()
      }
      await Promise.all([later(0), sessions.removeAll('BUSINESS', '1'), later(0), later(1), later(2), later(3)])
      t.equal(await isLive(fixture, 'BUSINESS', token), false)
      t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [])
    }
  })
}

async function setLaw(test: StoreTest): Promise<void> {
  await test('a session lives as long as its longest-living token', async (t, fixture) => {
    const { sessions } = fixture.store
    const long = await login(fixture, 'BUSINESS', '1', 10 * MINUTE)
    const short = await login(fixture, 'BUSINESS', '1', MINUTE)
    ahead(t, fixture, await sessions.sessionExpiresAt('BUSINESS', '1'), 10 * MINUTE, 'with both')
    await fixture.fastForward(5 * MINUTE)
    t.equal(await isLive(fixture, 'BUSINESS', short), false)
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [long])
    ahead(t, fixture, await sessions.sessionExpiresAt('BUSINESS', '1'), 5 * MINUTE, 'when the short one is gone')
    t.equal(await sessions.removeAll('BUSINESS', '1'), 1)
    t.equal(await isLive(fixture, 'BUSINESS', long), false)
  })

  await test('a short renewal of one token does not take the session from the other', async (t, fixture) => {
    const { sessions } = fixture.store
    const kept = await login(fixture, 'BUSINESS', '1', 10 * MINUTE)
    const renewed = await login(fixture, 'BUSINESS', '1', 10 * MINUTE)
    await sessions.renew('BUSINESS', '1', renewed, fixture.clock.now() + MINUTE)
    const end = await sessions.sessionExpiresAt('BUSINESS', '1')
    t.ok((end ?? 0) >= ((await sessions.tokenExpiresAt('BUSINESS', kept)) ?? Number.NaN) - SLACK)
    await fixture.fastForward(5 * MINUTE)
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [kept])
  })

  await test('when the last token is removed there is no session', async (t, fixture) => {
    const token = await login(fixture, 'BUSINESS', '1', MINUTE)
    await fixture.store.sessions.remove('BUSINESS', '1', token)
    t.equal(await fixture.store.sessions.sessionExpiresAt('BUSINESS', '1'), null)
  })

  await test('a hundred tokens of one user are listed oldest first, each with its record', async (t, fixture) => {
    const { sessions } = fixture.store
    const logins = Array.from({ length: 100 }, (_, i) => ({
      token: freshToken(),
      // Ten tokens per second: within a second the token decides.
      record: { ...record('CONSUMER', '1', { i }), created_at: `2025-01-31 12:00:${String(i % 10).padStart(2, '0')}` },
    }))
    await Promise.all(
      logins.map(({ token, record }) => sessions.add('CONSUMER', token, record, fixture.clock.now() + MINUTE)),
    )
    const expected = logins.toSorted(
      (a, b) => compare(a.record.created_at, b.record.created_at) || compare(a.token, b.token),
    )
    const listed = await sessions.tokens('CONSUMER', '1')
    t.strictSame(
      listed.map(({ token, record }) => ({ token, record })),
      expected,
    )
    ahead(t, fixture, listed[99]?.expiresAt ?? null, MINUTE, 'end of a listed token')
    t.equal(await sessions.removeAll('CONSUMER', '1'), 100)
    t.strictSame(await sessions.tokens('CONSUMER', '1'), [])
  })

  await test('tokens are listed by their age in whatever form and zone their records name it', async (t, fixture) => {
    const { sessions } = fixture.store
    const forms = [
      '2025-01-31T12:00:01Z',
      '2025-01-31 12:00:02',
      '2025-01-31T20:00:03.250000+08:00',
      '2025-01-31T12:00:04',
      '2025-01-31T04:00:05-0800',
    ]
    const tokens = forms.map(() => freshToken()).reverse()
    for (const [i, created_at] of forms.entries()) {
      const stored = { ...record('BUSINESS', '1'), created_at }
      await sessions.add('BUSINESS', tokens[i]!, stored, fixture.clock.now() + MINUTE)
    }
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), tokens)
    t.equal(await sessions.remove('BUSINESS', '1', tokens[2]!), true)
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), tokens.toSpliced(2, 1))
  })
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

async function isolationLaw(test: StoreTest): Promise<void> {
  await test('a token of one side does not exist on the other', async (t, fixture) => {
    const { sessions } = fixture.store
    const token = await login(fixture, 'BUSINESS', '1', MINUTE)
    t.equal(await isLive(fixture, 'CONSUMER', token), false)
    t.equal(await sessions.tokenExpiresAt('CONSUMER', token), null)
    t.equal(await sessions.sessionExpiresAt('CONSUMER', '1'), null)
    t.strictSame(await tokensOf(fixture, 'CONSUMER', '1'), [])
    t.equal(await sessions.remove('CONSUMER', '1', token), false)
    t.equal(await sessions.renew('CONSUMER', '1', token, fixture.clock.now() + MINUTE), false)
    t.equal(await sessions.removeAll('CONSUMER', '1'), 0)
    t.equal(await isLive(fixture, 'BUSINESS', token), true)
  })

  await test('the same text as a token on both sides is two sessions', async (t, fixture) => {
    const { sessions } = fixture.store
    const token = freshToken()
    const stored = { BUSINESS: record('BUSINESS', '1', { n: 1 }), CONSUMER: record('CONSUMER', '2', { n: 2 }) }
    for (const type of ['BUSINESS', 'CONSUMER'] as const) {
      await sessions.add(type, token, stored[type], fixture.clock.now() + MINUTE)
    }
    for (let i = 0; i < 2; i++) {
      t.strictSame(await sessions.find('BUSINESS', token), stored.BUSINESS)
      t.strictSame(await sessions.find('CONSUMER', token), stored.CONSUMER)
    }
    t.equal(await sessions.removeAll('CONSUMER', '2'), 1)
    t.equal(await isLive(fixture, 'CONSUMER', token), false)
    t.equal(await isLive(fixture, 'BUSINESS', token), true)
  })

  await test('ids with colons are as different as they look', async (t, fixture) => {
    const ids = ['a', 'a:b', 'a:b:c', ':', 'a:', ':a', 'token:a', 'session:a', 'disable:a', 'captcha:a', 'idx:online']
    const tokens = new Map<string, string>()
    for (const id of ids) tokens.set(id, await login(fixture, 'BUSINESS', id, MINUTE))
    for (const id of ids) t.strictSame(await tokensOf(fixture, 'BUSINESS', id), [tokens.get(id)], id)
    for (const [i, id] of ids.entries()) {
      t.equal(await fixture.store.sessions.removeAll('BUSINESS', id), 1, id)
      for (const later of ids.slice(i + 1)) {
        t.equal(await isLive(fixture, 'BUSINESS', tokens.get(later) ?? ''), true, `${later} outlives ${id}`)
      }
    }
  })
}

async function concurrencyLaw(test: StoreTest): Promise<void> {
  await test('a login that overlaps a kickout is ended by it or can be ended', async (t, fixture) => {
    const { sessions } = fixture.store
    const add = (token: string) =>
      sessions.add('BUSINESS', token, record('BUSINESS', '1'), fixture.clock.now() + 10 * MINUTE)
    for (let round = 0; round < 60; round++) {
      const tokens = [0, 1, 2, 3].map(freshToken)
      const [a, b, c, d] = tokens as [string, string, string, string]
      await Promise.all([add(a), add(b), sessions.removeAll('BUSINESS', '1'), add(c), later(() => add(d), round % 4)])
      const listed = new Set(await tokensOf(fixture, 'BUSINESS', '1'))
      for (const token of tokens) {
        t.equal(await isLive(fixture, 'BUSINESS', token), listed.has(token), 'a live token is in its set')
      }
      t.equal(await sessions.removeAll('BUSINESS', '1'), listed.size)
      for (const token of tokens) t.equal(await isLive(fixture, 'BUSINESS', token), false, 'nothing outlives a kickout')
    }
  })

  await test('of many who remove the same token one succeeds', async (t, fixture) => {
    const token = await login(fixture, 'BUSINESS', '1', MINUTE)
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => fixture.store.sessions.remove('BUSINESS', '1', token)),
    )
    t.equal(answers.filter(removed => removed).length, 1)
    t.equal(await isLive(fixture, 'BUSINESS', token), false)
  })

  await test('two hundred logins at once are all stored', async (t, fixture) => {
    const users = Array.from({ length: 200 }, (_, i) => String(i % 20))
    const tokens = await Promise.all(users.map(user => login(fixture, 'CONSUMER', user, MINUTE)))
    for (const token of tokens) if (!(await isLive(fixture, 'CONSUMER', token))) t.fail('a login was lost')
    for (let user = 0; user < 20; user++) t.equal((await tokensOf(fixture, 'CONSUMER', String(user))).length, 10)
  })
}

/** Does something some turns of the event loop later. */
async function later<T>(act: () => Promise<T>, turns: number): Promise<T> {
  for (let i = 0; i < turns; i++) await new Promise(resolve => setImmediate(resolve))
  return act()
}
