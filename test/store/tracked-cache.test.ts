import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { Clock } from '../../src/base/clock.ts'
import type { SessionRecord } from '../../src/session/record.ts'
import type { Credential, CredentialStore } from '../../src/store/credentials.ts'
import { rememberableReads } from '../../src/store/redis/rememberable.ts'
import type { ReadableSessions } from '../../src/store/redis/sessions/sessions.ts'
import { TrackedCache } from '../../src/store/redis/tracking/tracked-cache.ts'
import { TrackedCredentials } from '../../src/store/redis/tracking/tracked-credentials.ts'
import { TrackedSessions } from '../../src/store/redis/tracking/tracked-sessions.ts'
import type { Disable } from '../../src/store/remembered-values.ts'
import type { StoredToken } from '../../src/store/store.ts'
import { clockOf, createTestClock } from '../support/clock.ts'
import { record } from './contract-fixture.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const HEARTBEAT = 1000
const LIFETIME = 60_000

const createCache = (clock: Clock, maxEntries: number): TrackedCache<SessionRecord> =>
  new TrackedCache(clock, maxEntries, ({ user_id }) => user_id)

/** A cache that is believed, in a time that stands still until it is moved. */
function openCache(maxEntries = 100) {
  const clock = createTestClock(1_000_000)
  const cache = createCache(clock, maxEntries)
  cache.beginProof()(clock.time + HEARTBEAT)
  const stored = (token: string, userId = '1', expiresAt = clock.time + LIFETIME): StoredToken => ({
    token,
    record: record('CONSUMER', userId),
    expiresAt,
  })
  const kept = ({ record, expiresAt }: StoredToken) => ({ value: record, expiresAt })
  const keep = (token: string, userId?: string, expiresAt?: number): void =>
    cache.endRead(token, cache.beginRead(token)!, kept(stored(token, userId, expiresAt)))
  return { cache, clock, stored, keep }
}

/** A store that answers when the test lets it. */
function openTracked() {
  const { cache, clock, stored } = openCache()
  const disables = new TrackedCache<Disable>(clock, 100, ({ userId }) => userId)
  disables.beginProof()(clock.time + HEARTBEAT)
  const questions: { answer(found: StoredToken | null): void; fail(fault: Error): void }[] = []
  const disabled: { answer(until: number | null): void; fail(fault: Error): void }[] = []
  const verbs: { done(): void; fail(fault: Error): void }[] = []
  const verb = () => new Promise<any>((resolve, reject) => verbs.push({ done: () => resolve(true), fail: reject }))
  const sessions = {
    read: () => new Promise((answer, fail) => questions.push({ answer, fail })) as Promise<StoredToken | null>,
    find: async (): Promise<SessionRecord | null> => null,
    disabledUntil: () => new Promise((answer, fail) => disabled.push({ answer, fail })) as Promise<number | null>,
    remove: verb,
    removeAll: verb,
    renew: verb,
    disable: verb,
    untieDisable: verb,
  }
  const store = sessions as unknown as ReadableSessions
  const caches = { CONSUMER: { sessions: cache, disables } }
  const tracked = new TrackedSessions(store, caches, rememberableReads(store, { read: async () => null }))
  const remember = async (token: string, userId?: string) => {
    const found = tracked.find('CONSUMER', token)
    questions.pop()!.answer(stored(token, userId))
    await found
  }
  const rememberDisable = async (userId: string, until: number | null) => {
    const found = tracked.rememberedDisable('CONSUMER', userId)
    disabled.pop()!.answer(until)
    t.equal(await found, until)
  }
  return { cache, disables, clock, stored, tracked, questions, disabled, verbs, remember, rememberDisable }
}

t.test('the cache returns a session until its own end, and not after', async t => {
  const { cache, clock, keep } = openCache()
  keep('a', '1', clock.time + 500)
  clock.time += 499
  t.strictSame(cache.get('a'), record('CONSUMER', '1'))
  clock.time += 1
  t.equal(cache.get('a'), null)
})

t.test('the cache returns a session without an end while it is valid', async t => {
  const { cache, clock, keep } = openCache()
  keep('a', '1', Number.POSITIVE_INFINITY)
  t.not(cache.get('a'), null)
  clock.time += HEARTBEAT
  t.equal(cache.get('a'), null, 'no proof for a heartbeat')
  cache.beginProof()(clock.time + HEARTBEAT)
  t.not(cache.get('a'), null, 'proven again: nothing was missed')
})

t.test('a proof holds for no longer where the clock is set back', async t => {
  const { cache, clock, keep } = openCache()
  keep('a')
  clock.setBack = 3_600_000
  clock.time += HEARTBEAT - 1
  t.not(cache.get('a'), null)
  clock.time += 1
  t.equal(cache.get('a'), null)
})

t.test('a cache without a proof stores nothing', async t => {
  const cache = createCache(
    clockOf(() => 0),
    10,
  )
  t.equal(cache.beginRead('a'), null)
  t.equal(cache.get('a'), null)
})

t.test('the oldest sessions make room', async t => {
  const { cache, keep } = openCache(100)
  for (let i = 0; i < 1000; i++) keep(`t${i}`)
  t.equal(cache.size, 100)
  for (let i = 0; i < 1000; i++) t.equal(cache.get(`t${i}`) !== null, i >= 900, `t${i}`)
})

t.test('the limit holds with evictions, new queries and clears in between', async t => {
  const { cache, keep } = openCache(50)
  for (let i = 0; i < 20_000; i++) {
    const token = `t${(i * 7919) % 211}`
    if (i % 3 === 0) cache.evict(`t${(i * 31) % 211}`)
    if (i % 5000 === 4999) cache.clear()
    keep(token)
    if (cache.size > 50) t.fail(`${cache.size} entries`)
    if (cache.get(token) === null) t.fail('the newest session was pushed out')
  }
})

t.test('a full cache needs no more memory, however many sessions pass through it', async t => {
  const { cache, keep, clock } = openCache(20_000)
  const token = (i: number): string => `${'x'.repeat(180)}${i}`
  const used = (): number => {
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  const before = used()
  for (let i = 0; i < 20_000; i++) keep(token(i), String(i), clock.time + i)
  const full = used() - before
  for (let i = 20_000; i < 200_000; i++) {
    keep(token(i), String(i), clock.time + i)
    cache.beginRead(token(i - 10_000))
    cache.evict(token(i - 10_000))
    cache.evictUser(String(i))
    if (i % 1000 === 0) cache.beginProof()(clock.time + HEARTBEAT)
  }
  const later = used() - before
  t.comment(`${Math.round(full / 20_000)} bytes per session, then ${Math.round(later / 20_000)}`)
  t.ok(later < 2 * full, `${full} bytes when full, ${later} later`)
  t.ok(cache.size <= 20_000)
})

t.test('an answer in progress when its token was announced is not cached', async t => {
  const { tracked, questions, cache, stored } = openTracked()
  const found = tracked.find('CONSUMER', 'a')
  cache.evict('a')
  questions[0]!.answer(stored('a'))
  t.match(await found, { user_id: '1' }, 'it is an answer all the same')
  t.equal(cache.get('a'), null)
})

t.test('an answer in progress when the database was emptied is not cached', async t => {
  const { tracked, questions, cache, stored } = openTracked()
  const found = tracked.find('CONSUMER', 'a')
  cache.clear()
  questions[0]!.answer(stored('a'))
  await found
  t.equal(cache.get('a'), null)
})

t.test('an answer in progress when the connection was lost is not cached, also after a reconnect', async t => {
  const { tracked, questions, cache, clock, stored } = openTracked()
  const found = tracked.find('CONSUMER', 'a')
  cache.switchOff()
  cache.beginProof()(clock.time + HEARTBEAT)
  questions[0]!.answer(stored('a'))
  await found
  t.equal(cache.get('a'), null)
})

t.test('of two queries for a token, announced between them, only the second is cached', async t => {
  const { tracked, questions, cache, stored } = openTracked()
  const first = tracked.find('CONSUMER', 'a')
  cache.evict('a')
  const second = tracked.find('CONSUMER', 'a')
  questions[0]!.answer(stored('a', 'old'))
  await first
  t.equal(cache.get('a'), null)
  questions[1]!.answer(stored('a', 'new'))
  await second
  t.match(cache.get('a'), { user_id: 'new' })
})

t.test('absence is not cached', async t => {
  const { tracked, questions, cache } = openTracked()
  const found = tracked.find('CONSUMER', 'a')
  questions[0]!.answer(null)
  t.equal(await found, null)
  t.equal(cache.size, 0)
  tracked.find('CONSUMER', 'a')
  t.equal(questions.length, 2, 'the next request asks again')
})

t.test('a failure of the store is reported, and not cached', async t => {
  const { tracked, questions, cache } = openTracked()
  const found = tracked.find('CONSUMER', 'a')
  questions[0]!.fail(new Error('away'))
  await t.rejects(found as Promise<unknown>, /away/)
  t.equal(cache.get('a'), null)
})

for (const verb of ['remove', 'renew'] as const) {
  t.test(`a token is evicted before its ${verb} is acknowledged, even if that fails`, async t => {
    for (const outcome of ['done', 'fail'] as const) {
      const { tracked, verbs, cache, remember } = openTracked()
      await remember('a')
      t.not(cache.get('a'), null)
      const ended = verb === 'remove' ? tracked.remove('CONSUMER', '1', 'a') : tracked.renew('CONSUMER', '1', 'a', 0)
      verbs[0]![outcome](new Error('no answer in time'))
      await ended.catch(() => undefined)
      t.equal(cache.get('a'), null, outcome)
    }
  })
}

t.test('an answer in progress when its token was removed here is not cached', async t => {
  const { tracked, verbs, questions, cache, stored } = openTracked()
  const found = tracked.find('CONSUMER', 'a')
  const removed = tracked.remove('CONSUMER', '1', 'a')
  verbs[0]!.done()
  await removed
  questions[0]!.answer(stored('a'))
  await found
  t.equal(cache.get('a'), null)
})

t.test('after a kickout the cache returns no session of the user until the next proof', async t => {
  for (const outcome of ['done', 'fail'] as const) {
    const { tracked, verbs, questions, cache, clock, stored, remember } = openTracked()
    await remember('a', '1')
    await remember('b', '2')
    const proofBefore = cache.beginProof()
    const underWay = tracked.find('CONSUMER', 'c')
    const kickout = tracked.removeAll('CONSUMER', '1')
    verbs[0]![outcome](new Error('no answer in time'))
    await kickout.catch(() => undefined)
    t.equal(cache.get('a'), null)
    t.not(cache.get('b'), null, 'other users stay')

    questions[0]!.answer(stored('c', '1'))
    await underWay
    t.equal(cache.get('c'), null, 'neither is an answer that was under way')
    proofBefore(clock.time + HEARTBEAT)
    t.equal(cache.get('a'), null, 'a proof that began before proves nothing')
    cache.beginProof()(clock.time + HEARTBEAT)
    t.not(cache.get('a'), null, 'announced: what was not announced was not ended')
  }
})

t.test('whether a login id is disabled is asked once, also if it is not', async t => {
  const { tracked, disabled, clock, rememberDisable } = openTracked()
  await rememberDisable('1', null)
  await rememberDisable('2', clock.time + 500)
  t.equal(tracked.rememberedDisable('CONSUMER', '1'), null)
  t.equal(tracked.rememberedDisable('CONSUMER', '2'), clock.time + 500)
  t.equal(disabled.length, 0, 'without a question')
  clock.time += 500
  const found = tracked.rememberedDisable('CONSUMER', '2')
  t.equal(disabled.length, 1, 'until the disable ends')
  disabled.pop()!.answer(null)
  t.equal(await found, null)
  clock.time += HEARTBEAT
  tracked.rememberedDisable('CONSUMER', '1')
  t.equal(disabled.length, 1, 'and while no change can have been missed')
})

t.test('whether a login id is disabled is asked again once its key was announced', async t => {
  const { tracked, disables, disabled, clock, rememberDisable } = openTracked()
  await rememberDisable('1', null)
  disables.evict('1')
  const underWay = tracked.rememberedDisable('CONSUMER', '1')
  disables.evict('1')
  disabled.pop()!.answer(null)
  t.equal(await underWay, null, 'an answer that was under way is an answer')
  tracked.rememberedDisable('CONSUMER', '1')
  t.equal(disabled.length, 1, 'and is not remembered')
  disables.switchOff()
  tracked.rememberedDisable('CONSUMER', '2')
  disabled.at(-1)!.answer(null)
  disables.beginProof()(clock.time + HEARTBEAT)
  tracked.rememberedDisable('CONSUMER', '2')
  t.equal(disabled.length, 3, 'nor is what was answered while changes could be missed')
})

for (const verb of ['disable', 'untieDisable'] as const) {
  t.test(`what is known of a login id is evicted before its ${verb} is acknowledged, even if that fails`, async t => {
    for (const outcome of ['done', 'fail'] as const) {
      const { tracked, verbs, disabled, rememberDisable } = openTracked()
      await rememberDisable('1', null)
      const changed = verb === 'disable' ? tracked.disable('CONSUMER', '1', 0) : tracked.untieDisable('CONSUMER', '1')
      verbs[0]![outcome](new Error('no answer in time'))
      await changed.catch(() => undefined)
      tracked.rememberedDisable('CONSUMER', '1')
      t.equal(disabled.length, 1, outcome)
    }
  })
}

t.test('the login ids of which is known whether they are disabled are bounded', async t => {
  const { disables, rememberDisable } = openTracked()
  for (let i = 0; i < 300; i++) await rememberDisable(String(i), null)
  t.equal(disables.size, 100)
})

/** Credentials of a store whose verbs end when the test lets them. */
function openTrackedCredentials() {
  const clock = createTestClock(1_000_000)
  const cache = new TrackedCache<Credential>(clock, 100, ({ owner }) => owner)
  cache.beginProof()(clock.time + HEARTBEAT)
  const stored = (id: string, owner = '1'): Credential => ({
    id,
    owner,
    text: 'text',
    expiresAt: clock.time + LIFETIME,
  })
  const verbs: { done(): void; fail(fault: Error): void }[] = []
  const verb = () => new Promise<any>((resolve, reject) => verbs.push({ done: () => resolve(true), fail: reject }))
  const credentials = { find: async () => null, remove: verb, removeAll: verb, rewrite: verb, succeed: verb }
  let owner = '1'
  const read = async (_type: string, id: string) => ({ value: stored(id, owner), expiresAt: clock.time + LIFETIME })
  const tracked = new TrackedCredentials(
    credentials as unknown as CredentialStore,
    { CONSUMER: { credentials: cache } },
    read,
  )
  const remember = async (id: string, of = '1'): Promise<void> => {
    owner = of
    await tracked.find('CONSUMER', id)
  }
  return { cache, clock, tracked, verbs, remember, stored }
}

type OpenCredentials = ReturnType<typeof openTrackedCredentials>

const CREDENTIAL_VERBS: Record<string, (opened: OpenCredentials) => Promise<unknown>> = {
  remove: ({ tracked }) => tracked.remove('CONSUMER', '1', 'a'),
  rewrite: ({ tracked }) => tracked.rewrite('CONSUMER', 'a', 'text', 'new'),
  succeed: ({ tracked, stored }) => tracked.succeed('CONSUMER', '1', 'a', stored('b'), 0),
}

for (const [name, change] of Object.entries(CREDENTIAL_VERBS)) {
  t.test(`a credential is evicted before its ${name} is acknowledged, even if that fails`, async t => {
    for (const outcome of ['done', 'fail'] as const) {
      const opened = openTrackedCredentials()
      const { cache, verbs, remember } = opened
      await remember('a')
      await remember('c')
      t.match(cache.get('a'), { id: 'a' })
      const changed = change(opened)
      verbs[0]![outcome](new Error('no answer in time'))
      await changed.catch(() => undefined)
      t.equal(cache.get('a'), null, outcome)
      t.match(cache.get('c'), { id: 'c' }, 'others stay')
    }
  })
}

t.test('after the end of all credentials of an owner the cache returns none until the next proof', async t => {
  for (const outcome of ['done', 'fail'] as const) {
    const { cache, clock, tracked, verbs, remember } = openTrackedCredentials()
    await remember('a')
    await remember('b', '2')
    const ended = tracked.removeAll('CONSUMER', '1')
    verbs[0]![outcome](new Error('no answer in time'))
    await ended.catch(() => undefined)
    t.equal(cache.get('a'), null, outcome)
    t.match(cache.get('b'), { id: 'b' }, 'those of others stay')
    cache.beginProof()(clock.time + HEARTBEAT)
    t.match(cache.get('a'), { id: 'a' }, 'announced: what was not announced was not ended')
  }
})
